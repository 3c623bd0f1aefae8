import { folderStore } from './stores.ts';
import { describeService } from './suite.ts';

describeService('records in a folder', folderStore());
