import type { Json } from '@heddle/core';
import { documentOf, escapeHtml, fieldHtml } from '../chats/html.ts';
import { valueAtKeys } from '../logs/inspect/value-page.ts';
import type { FormField } from '../workflows/input-fields.ts';

/** A value that a person sees before they answer. */
export interface ShownValue {
  name: string;
  value: Json;
}

/** A notification of a pause. The reason for its status is omitted, because it can name addresses and accounts. */
export interface ShownNotification {
  name: string;
  status: Json;
}

/** The content of the page of a pause, as plain text. */
export interface ShownPause {
  title: string;
  workflowName: string;
  pausedAt: string;
  /** When the link expires. */
  expiresAt: string;
  values: readonly ShownValue[];
  notifications: readonly ShownNotification[];
  fields: readonly FormField[];
}

/** Maximum length of the text of a value. */
const MAX_TEXT_LENGTH = 20_000;
/** Maximum length of the name of a notification. */
const MAX_NAME_LENGTH = 100;

/** Returns the page on which a pause is answered. */
export function resumePage(pause: ShownPause): string {
  const { title, workflowName, pausedAt, expiresAt, values, fields } = pause;
  const items = values.map(({ name, value }) => `<dt>${escapeHtml(name)}</dt><dd>${valueHtml(value)}</dd>`);
  const context =
    items.length === 0 ? '' : `<dl id="context" tabindex="0" aria-label="Context">${items.join('')}</dl>\n`;
  return documentOf(
    'resume',
    { title, description: `${workflowName} waits for an answer.` },
    `${context}<p class="muted">Waiting since ${timeHtml(pausedAt)}. This link expires on ${timeHtml(expiresAt)}.</p>
${notificationsHtml(pause)}<form id="form">
${fields.map((field, index) => fieldHtml(field, `field-${index}`)).join('\n')}
<div class="buttons"><button type="submit">Answer</button><button type="button" id="stop" hidden>Stop</button></div>
</form>
<p id="status" role="status"></p>
<section id="result" aria-label="Result" tabindex="-1" hidden></section>`,
  );
}

/** Returns the page for a link without an open pause. It does not say which of the possible reasons applies. */
export function closedPage(): string {
  const content = { title: 'Nothing to answer', description: null };
  const text = 'The question at this link was answered, its run has ended, or the link has expired.';
  return documentOf(undefined, content, `<p>${text}</p>`);
}

/**
 * Returns the values of the block's field `builderData`. In the output of a pause, they are in
 * `response.data.responseStructure`.
 */
export function valuesOf(output: Json): ShownValue[] {
  const structure = valueAtKeys(output, ['response', 'data', 'responseStructure']);
  if (!Array.isArray(structure)) return [];
  return structure.flatMap((field) => {
    const name = valueAtKeys(field, ['name']);
    const value = valueAtKeys(field, ['value']) ?? null;
    return typeof name === 'string' && name !== '' ? [{ name, value }] : [];
  });
}

/** Returns the notifications in the output of a pause. */
export function notificationsOf(output: Json): ShownNotification[] {
  const notifications = valueAtKeys(output, ['response', 'data', 'notifications']);
  if (!Array.isArray(notifications)) return [];
  return notifications.map((notification) => {
    const labels = [valueAtKeys(notification, ['title']), valueAtKeys(notification, ['type'])].filter(
      (label) => typeof label === 'string' && label !== '',
    );
    const [name = 'notification'] = labels as string[];
    return { name: name.slice(0, MAX_NAME_LENGTH), status: valueAtKeys(notification, ['status']) ?? null };
  });
}

const STATUS_TEXTS: ReadonlyMap<Json, string> = new Map([
  ['sent', 'sent'],
  ['unknown', 'may not have been sent'],
]);

function notificationsHtml({ notifications }: ShownPause): string {
  if (notifications.length === 0) return '';
  const lines = notifications.map(
    ({ name, status }) => `${escapeHtml(name)}: ${STATUS_TEXTS.get(status) ?? 'not sent'}`,
  );
  return `<p class="muted">Notifications: ${lines.join('; ')}.</p>\n`;
}

function valueHtml(value: Json): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  const shownText = text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}…` : text;
  return `<p>${escapeHtml(shownText)}</p>`;
}

function timeHtml(time: string): string {
  const shownTime = time.replace('T', ' ').replace(/:\d\d(\.\d+)?Z$/, ' UTC');
  return `<time datetime="${escapeHtml(time)}">${escapeHtml(shownTime)}</time>`;
}
