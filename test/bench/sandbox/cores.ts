import { ContenderProcess } from '../contender-process.ts';
import type { MeasuredWorkload } from '../workload.ts';

/**
 * Measures the milliseconds for `size` executions by two concurrent processes, each of which runs the contender's
 * workload `sandbox` sequentially: the optimum of a single-threaded contender on two cores.
 */
export async function twoProcesses(name: string, size: number): Promise<MeasuredWorkload> {
  const start = () => ContenderProcess.start(name, { workload: 'sandbox', size: 1 });
  const processes = await Promise.all([start(), start()]);
  return {
    async sample(sampleMs) {
      await Promise.all(processes.map((each) => each.sample(sampleMs, (eachMs) => eachMs)));
      let perMs = 0;
      for (const { missing, values } of processes) {
        if (missing !== undefined) throw new Error(missing);
        perMs += 1 / (values.at(-1) as number);
      }
      return size / perMs;
    },
    close: async () => void (await Promise.all(processes.map((each) => each.stop()))),
  };
}
