import { BASE_PATH, HEADERS } from './client.ts';

/** An event of a followed run. */
export interface RunEvent {
  type: string;
  blockId?: string;
  spanId?: string;
  status?: string;
}

const RETRY_MS = 1000;

/**
 * Calls `onEvent` for the events of a run, until the run ends or waits for a person, the server refuses the request, or
 * `signal` is aborted. After a lost connection it reconnects and continues after the last event.
 */
export async function followRun(
  runId: string,
  onEvent: (event: RunEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  let lastEventId: string | undefined;
  while (!signal.aborted) {
    try {
      const headers = { ...HEADERS, ...(lastEventId !== undefined && { 'Last-Event-ID': lastEventId }) };
      const path = `${BASE_PATH}/api/v2/logs/${encodeURIComponent(runId)}/events`;
      const response = await fetch(path, { headers, signal });
      if (!response.ok || !response.body) return;
      for await (const { id, data } of readServerSentEvents(response.body)) {
        lastEventId = id ?? lastEventId;
        if (data === '[DONE]') return;
        onEvent(data as RunEvent);
      }
    } catch (error) {
      if (signal.aborted) return;
      // `fetch` and the body report a lost connection as a TypeError.
      if (!(error instanceof TypeError)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

async function* readServerSentEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<{ id: string | undefined; data: unknown }> {
  let buffer = '';
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    buffer += value;
    const eventTexts = buffer.split('\n\n');
    buffer = eventTexts.pop() ?? '';
    for (const eventText of eventTexts) {
      const data = /^data: (.*)$/m.exec(eventText)?.[1];
      if (data !== undefined)
        yield { id: /^id: (.*)$/m.exec(eventText)?.[1], data: JSON.parse(data) as unknown };
    }
  }
}
