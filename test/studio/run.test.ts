import { isFullRun, reportSkipped } from '../support/scale.ts';
import { defineIterationTests } from './flows/iterations.ts';
import { defineRunTests } from './flows/run.ts';
import { describeStores } from './stores.ts';

describeStores('the page of a run', defineRunTests);

if (isFullRun) describeStores('the page of a long run', defineIterationTests);
else reportSkipped('a run of 100,000 iterations on a server');
