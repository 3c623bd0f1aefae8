// A process of its own for the tests of what processes do to each other: `node child.ts COMMAND DATA [ARGUMENT]`.
// It prints one JSON value per line.
import type { EngineError, Json } from '@heddle/core';
import { requestControl } from '../../packages/engine/src/store/control.ts';
import { openStores } from '../../packages/engine/src/store/open.ts';
import { systemClock } from '../../packages/engine/src/clock.ts';
import { entry, newRun, started } from '../support/run-data.ts';

const [command = '', data = '', argument = ''] = process.argv.slice(2);

function print(value: Json): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

const commands: { [name: string]: () => Promise<void> | void } = {
  /** Owns the folder and appends to run `argument` without end, printing each number once it is committed. */
  async write() {
    const { runs } = openStores({ data });
    await runs.create(newRun(argument), started());
    for (let seq = 2; ; seq += 1) {
      await runs.append(argument, [entry(seq), entry((seq += 1))]);
      print(seq);
    }
  },
  /** Owns the folder and appends until it cannot: prints what it was told, for an entry and for a large value, and the last number that was committed. */
  async fill() {
    // The signal's default would end the process; as with a full disk, the write is to fail.
    process.on('SIGXFSZ', () => undefined);
    const { runs, values } = openStores({ data });
    const told = async (write: () => unknown): Promise<Json> => {
      try {
        await write();
        return 'written';
      } catch (error) {
        const { code, message } = error as EngineError;
        return { code, message };
      }
    };
    await runs.create(newRun(argument), started());
    let seq = 1;
    let answer: Json = 'written';
    while (answer === 'written') {
      answer = await told(() => runs.append(argument, [entry(seq + 1, 'x'.repeat(5000))]));
      if (answer === 'written') seq += 1;
    }
    print(answer);
    print(await told(() => values.put(JSON.stringify('x'.repeat(2_000_000)))));
    print(seq);
  },
  /** Owns the folder and serves; `hang`: takes requests and never answers. */
  serve() {
    openStores({ data }).control.serve(async ({ kind, runId }) => {
      print({ took: `${kind} ${runId}` });
      if (argument === 'hang') await new Promise(() => undefined);
      return { pid: process.pid };
    });
    print('serving');
  },
  /** Asks for a cancel of run `argument` and prints the outcome. */
  async ask() {
    const stores = openStores({ data, readOnly: true });
    const ask = { runId: argument, kind: 'cancel', payload: null } as const;
    const { outcome } = await requestControl(stores.control, ask, { clock: systemClock, timeoutMs: 20_000 });
    print(outcome ?? null);
    stores.close();
  },
  /** Follows run `r` until it has `argument` entries, printing the numbers as they come. */
  async read() {
    const stores = openStores({ data, readOnly: true });
    let seq = 0;
    while (seq < Number(argument)) {
      const entries = await stores.runs.tail('r', seq);
      seq = entries.at(-1)?.seq ?? seq;
      if (entries.length > 0) print(entries.map((one) => one.seq));
      await new Promise((resolve) => setImmediate(resolve));
    }
    stores.close();
  },
};

await commands[command]?.();
