/** Functions that the pages of chats and forms share. Plain JavaScript, which browsers load unchanged. */

/** Returns the element with this id. */
export function byId(id) {
  return document.getElementById(id);
}

/** Shows a message, which screen readers announce too. */
export function showStatus(text, isError = false) {
  const status = byId('status');
  status.textContent = text;
  status.classList.toggle('error', isError);
}

/** Returns a file with its content as a data: URL. */
function encodeFile(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve({ name: file.name, data: dataUrl(reader.result) }));
    reader.addEventListener('error', () => reject(new Error(`${file.name} cannot be read.`)));
    reader.readAsDataURL(file);
  });
}

/** An empty file has a data URL without data in some browsers. */
function dataUrl(text) {
  return text === 'data:' ? 'data:application/octet-stream;base64,' : text;
}

/** Returns the files that a person has chosen. */
export function filesOf(input) {
  return Promise.all([...input.files].map((file) => encodeFile(file)));
}

/** Returns the value of a control; undefined if nothing was entered. Throws an Error for text that is not JSON. */
export function valueOf(control) {
  const { type } = control.dataset;
  if (type === 'boolean' && control.type === 'checkbox') return control.checked;
  if (control.value === '') return undefined;
  if (type === 'number') return Number(control.value);
  if (type !== 'object' && type !== 'array') return control.value;
  try {
    return JSON.parse(control.value);
  } catch {
    control.focus();
    throw new Error(`${control.labels[0].textContent} must be JSON.`);
  }
}

/** Sends JSON to a URL of the page. Throws an Error with a human-readable message. */
export async function post(url, body, signal) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  });
  if (response.ok) return response;
  if (response.status === 401 && url === location.pathname) location.reload();
  const answer = await response.json().catch(() => undefined);
  throw new Error(answer?.error?.message ?? `The server responded with ${response.status}.`);
}

/** Yields the data of the server-sent events of a response. */
async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value = '' } = await reader.read();
    rest += value;
    const events = rest.split('\n\n');
    rest = events.pop();
    for (const event of events) {
      const data = event.startsWith('data: ') ? JSON.parse(event.slice('data: '.length)) : undefined;
      if (data !== undefined && data !== '[DONE]') yield data;
    }
    if (done) return;
  }
}

/** Returns a value as human-readable text. */
function textOf(value) {
  if (typeof value === 'string') return value;
  if (typeof value?.content === 'string') return value.content;
  return JSON.stringify(value, null, 2);
}

/** Returns whether the output has something to show. */
function isShown(output) {
  return (
    output !== null && output !== '' && !(typeof output === 'object' && Object.keys(output).length === 0)
  );
}

/**
 * Reads the stream of a run. Calls `show` with the whole text so far whenever it changes. Throws an Error if the run
 * fails.
 */
export async function readRun(response, show) {
  // With selected outputs, the final output contains the ones that were not streamed, by block and path.
  const isSelected = byId('form').dataset.selected !== undefined;
  const texts = new Map();
  const shownText = () => [...texts.values()].filter((text) => text !== '').join('\n\n');
  for await (const frame of eventsOf(response)) {
    if (typeof frame.chunk === 'string')
      texts.set(frame.blockId, (texts.get(frame.blockId) ?? '') + frame.chunk);
    else if (frame.event === 'chunk_reset') texts.set(frame.blockId, '');
    else if (frame.event === 'error') throw new Error(frame.error);
    else if (frame.event === 'final') {
      const { success, error, output, status } = frame.data;
      if (!success) throw new Error(error);
      if (status === 'paused') texts.set('paused', 'The answer waits for a person.');
      else if (isShown(output)) texts.set('output', isSelected ? selectedText(output) : textOf(output));
    }
    show(shownText());
  }
  if (shownText() === '') show('Done.');
}

function selectedText(output) {
  return Object.values(output)
    .flatMap((values) => Object.values(values ?? {}))
    .map((value) => textOf(value))
    .join('\n\n');
}

/** Calls `work` with a signal that the stop button aborts. Disables the send button until it has ended. */
export async function whileWorking(form, work) {
  const [send, stop] = [form.querySelector('[type=submit]'), byId('stop')];
  const controller = new AbortController();
  const abort = () => controller.abort();
  stop.addEventListener('click', abort);
  send.disabled = true;
  stop.hidden = false;
  showStatus('Working…');
  try {
    await work(controller.signal);
    showStatus('');
  } catch (error) {
    showStatus(controller.signal.aborted ? 'Stopped.' : error.message, !controller.signal.aborted);
  } finally {
    stop.removeEventListener('click', abort);
    send.disabled = false;
    stop.hidden = true;
  }
}
