import { isFull, reportSkipped } from '../support/scale.ts';
import { iterationFlows } from './flows/iterations.ts';
import { runFlows } from './flows/run.ts';
import { describeStores } from './stores.ts';

describeStores('the page of a run', runFlows);

if (isFull) describeStores('the page of a long run', iterationFlows);
else reportSkipped('a run of 100,000 iterations on a server');
