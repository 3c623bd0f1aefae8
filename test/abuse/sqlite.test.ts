import { folderPlace } from './places.ts';
import { describeService } from './suite.ts';

describeService('records in a folder', folderPlace());
