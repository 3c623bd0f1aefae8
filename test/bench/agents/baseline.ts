import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Contender } from '../workload.ts';
import { COUNT_TOOL, QUESTION, openAgentWorkload } from './model.ts';
import type { AgentRun } from './model.ts';

interface Message {
  role: string;
  content?: string;
  tool_calls?: object[];
  tool_call_id?: string;
}

interface Chunk {
  choices: { delta: { content?: string; tool_calls?: { id: string }[] } }[];
}

/** Sends the messages and reads the streamed response. */
async function requestModel(
  url: string,
  messages: Message[],
): Promise<{ text: string; calls: { id: string }[] }> {
  const tools = [{ type: 'function', function: COUNT_TOOL }];
  const response = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'scripted', stream: true, messages, tools }),
  });
  let text = '';
  const calls: { id: string }[] = [];
  for (const line of (await response.text()).split('\n')) {
    if (!line.startsWith('data: {')) continue;
    for (const { delta } of (JSON.parse(line.slice(6)) as Chunk).choices) {
      text += delta.content ?? '';
      calls.push(...(delta.tool_calls ?? []));
    }
  }
  return { text, calls };
}

/** Calls the model and the tool until the model answers. Calls `save` with each result. */
async function ask(url: string, save: (result: object) => void): Promise<AgentRun> {
  const messages: Message[] = [{ role: 'user', content: QUESTION }];
  for (let callCount = 0; ; callCount++) {
    const answer = await requestModel(url, messages);
    save(answer);
    if (answer.calls.length === 0) return { text: answer.text, callCount };
    const result = { counted: callCount };
    save(result);
    messages.push({ role: 'assistant', tool_calls: answer.calls });
    for (const { id } of answer.calls)
      messages.push({ role: 'tool', tool_call_id: id, content: JSON.stringify(result) });
  }
}

/** Sends requests in a loop. In the durable workloads, each result is committed. */
export const baseline: Contender = {
  agent: (rounds) => openAgentWorkload(rounds, async (url) => ({ ask: () => ask(url, () => undefined) })),
  'durable agent': (rounds) =>
    openAgentWorkload(rounds, async (url) => {
      const { save, close } = openResultTable();
      return { ask: () => ask(url, save), close };
    }),
  steps: (size) => {
    const { save, close } = openResultTable();
    return {
      runOnce() {
        for (let n = 0; n < size; n++) save({ n });
      },
      close,
    };
  },
};

/** Opens a new table. `save` commits a result to the table. */
function openResultTable() {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const db = new DatabaseSync(join(folder, 'baseline.db'));
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
  db.exec('CREATE TABLE steps (id INTEGER PRIMARY KEY, result TEXT)');
  const insert = db.prepare('INSERT INTO steps (result) VALUES (?)');
  return {
    save: (result: object): void => void insert.run(JSON.stringify(result)),
    close() {
      db.close();
      rmSync(folder, { recursive: true });
    },
  };
}
