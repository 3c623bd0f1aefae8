import { ContenderProcess } from '../contender-process.ts';
import type { SelfMeasuringWorkload } from '../workload.ts';

/**
 * Measures the milliseconds for `size` executions by two concurrent processes, each of which runs the contender's
 * workload `sandbox` sequentially. This is the best that a single-threaded contender can reach on two cores.
 */
export async function createTwoProcessesWorkload(name: string, size: number): Promise<SelfMeasuringWorkload> {
  const start = () => ContenderProcess.start(name, { workload: 'sandbox', size: 1 });
  const processes = await Promise.all([start(), start()]);
  return {
    async sample(sampleMs) {
      await Promise.all(processes.map((child) => child.sample(sampleMs, (executionMs) => executionMs)));
      let executionsPerMs = 0;
      for (const { missingReason, values } of processes) {
        if (missingReason !== undefined) throw new Error(missingReason);
        executionsPerMs += 1 / (values.at(-1) as number);
      }
      return size / executionsPerMs;
    },
    close: async () => void (await Promise.all(processes.map((child) => child.stop()))),
  };
}
