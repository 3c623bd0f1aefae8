// The program that tests start as a child process: `node store-process.ts COMMAND DATA [ARGUMENT]`. DATA is a data
// folder or the URL of a database. The program prints one JSON value per line.
import type { EngineError, Json } from '@heddle/core';
import { serveRequests, waitForOutcome } from '../../packages/engine/src/store/control.ts';
import { openPostgres } from '../../packages/engine/src/store/open-postgres.ts';
import { openStores } from '../../packages/engine/src/store/open.ts';
import type { SharedStores } from '../../packages/engine/src/store/stores.ts';
import { systemClock } from '../../packages/engine/src/clock.ts';
import {
  createEntry,
  createBlockLog,
  createRunHeader,
  createRunRecord,
  createStartedEntry,
} from '../support/run-data.ts';

const [command = '', data = '', argument = ''] = process.argv.slice(2);

function print(value: Json): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** Opens the stores in the data folder, or in this schema of the database. */
async function openShared(schema: string): Promise<SharedStores> {
  return data.startsWith('postgresql:')
    ? openPostgres({ url: data, schema })
    : openStores({ data, shared: true });
}

const commands: { [name: string]: () => Promise<void> | void } = {
  /** Owns the folder and appends to run `argument` forever. Prints each number after its commit. */
  async write() {
    const { runs } = openStores({ data });
    await runs.create(createRunHeader(argument), createStartedEntry());
    for (let seq = 2; ; seq += 1) {
      await runs.append(argument, [createEntry(seq), createEntry((seq += 1))]);
      print(seq);
    }
  },
  /**
   * Owns the folder and appends until a write fails. Prints the errors for an entry and for a large value, and the last
   * committed number.
   */
  async fill() {
    // The default action of the signal would end the process; here the write must fail, as on a full disk.
    process.on('SIGXFSZ', () => undefined);
    const { runs, values } = openStores({ data });
    const tryWrite = async (write: () => unknown): Promise<Json> => {
      try {
        await write();
        return 'written';
      } catch (error) {
        const { code, message } = error as EngineError;
        return { code, message };
      }
    };
    await runs.create(createRunHeader(argument), createStartedEntry());
    let seq = 1;
    let result: Json = 'written';
    while (result === 'written') {
      result = await tryWrite(() => runs.append(argument, [createEntry(seq + 1, 'x'.repeat(5000))]));
      if (result === 'written') seq += 1;
    }
    print(result);
    print(await tryWrite(() => values.put(JSON.stringify('x'.repeat(2_000_000)))));
    print(seq);
  },
  /** Owns the folder and serves requests; with `hang`, never completes them. */
  async serve() {
    await serveRequests(openStores({ data }).control, {
      handle: async ({ kind, runId }) => {
        print({ received: `${kind} ${runId}` });
        if (argument === 'hang') await new Promise(() => undefined);
        return { pid: process.pid };
      },
      onError: (error) => print({ error: String(error) }),
    });
    print('serving');
  },
  /** Requests the cancellation of run `argument` and prints the outcome. */
  async cancel() {
    const stores = openStores({ data, readOnly: true });
    const id = await stores.control.add({ runId: argument, kind: 'cancel', payload: null });
    const waitOptions = { clock: systemClock, timeoutMs: 20_000 };
    print((await waitForOutcome(stores.control, id, waitOptions)) ?? null);
    stores.close();
  },
  /**
   * Shares the stores (`argument`: schema, run and number of entries): prints whether it created the run, and writes
   * entries, record and log step by step, while other processes write the same data.
   */
  async share() {
    const [schema = '', runId = '', count] = argument.split('|');
    const { runs, close } = await openShared(schema);
    print(await runs.create(createRunHeader(runId), createStartedEntry()));
    for (let seq = 2; seq <= Number(count); seq += 1) {
      await runs.upsert(
        runId,
        [seq - 1, seq, seq + 1]
          .filter((entrySeq) => entrySeq > 1 && entrySeq <= Number(count))
          .map((entrySeq) => createEntry(entrySeq)),
      );
      await runs.saveRecord(createRunRecord(runId, { seq }), [createBlockLog(runId, 1, { startedMs: seq })]);
    }
    await close();
  },
  /**
   * Shares the stores (`argument`: schema and run) and appends to the run forever. Prints each number after its commit.
   */
  async append() {
    const [schema = '', runId = ''] = argument.split('|');
    const { runs } = await openShared(schema);
    await runs.create(createRunHeader(runId), createStartedEntry());
    for (let seq = 2; ; seq += 1) {
      await runs.append(runId, [createEntry(seq), createEntry((seq += 1))]);
      print(seq);
    }
  },
  /** Follows run `r` until it has `argument` entries. Prints the numbers as they arrive. */
  async read() {
    const stores = openStores({ data, readOnly: true });
    let seq = 0;
    while (seq < Number(argument)) {
      const entries = await stores.runs.tail('r', seq);
      seq = entries.at(-1)?.seq ?? seq;
      if (entries.length > 0) print(entries.map((storedEntry) => storedEntry.seq));
      await new Promise((resolve) => setImmediate(resolve));
    }
    stores.close();
  },
};

await commands[command]?.();
