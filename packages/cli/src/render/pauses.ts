import type { Json, JsonObject } from '@heddle/core';
import { isJsonObject, getOwn } from '@heddle/core/blocks';
import { inputFields } from '@heddle/core/fields';
import type { InputField } from '@heddle/core/fields';
import type { RunDetail } from '@heddle/engine';
import { runsCommand } from './commands.ts';
import type { CommandContext } from './commands.ts';
import { CONTROL_CHARACTERS, sanitizeLine } from './style.ts';
import type { Style } from './style.ts';
import { tableLines } from './table.ts';

type Pause = RunDetail['pauses'][number];

/**
 * Returns the lines for each pause point that waits for a person: its data, its fields, and the answering command.
 */
export function pauseLines(pauses: readonly Pause[], context: CommandContext & { style: Style }): string[] {
  const openPauses = pauses.filter(({ kind }) => kind === 'human');
  return openPauses.flatMap((pause) => linesOf(pause, openPauses.length > 1, context));
}

function linesOf(
  pause: Pause,
  needsPointOption: boolean,
  context: CommandContext & { style: Style },
): string[] {
  const { style, blockArgs = [] } = context;
  const pointArgs = needsPointOption ? ['--point', pause.token] : [];
  const calls = callsOf(pause);
  if (calls.length > 0) {
    const approveCommand = runsCommand('resume', context, ...pointArgs, '--approve', 'all', ...blockArgs);
    return [
      '',
      `  ${style.bold(sanitizeLine(pause.blockName))} ${style.dim('waits for the approval of calls')}`,
      ...tableLines(calls.map(([id, name, args]) => [`    ${style.cyan(id)}`, name, args])),
      `  ${style.cyan('→')} ${approveCommand}`,
      style.dim('    or --approve CALLS, --deny CALLS --reason TEXT, --edit CALL=JSON'),
    ];
  }
  const example = JSON.stringify(exampleInput(pause));
  const inputArgs = example === '{}' ? [] : ['--input', example];
  return [
    '',
    `  ${style.bold(sanitizeLine(pause.blockName))} ${style.dim('waits for an answer')}`,
    ...tableLines(shownRows(pause).map(([name, value]) => [`    ${style.dim(name)}`, value])),
    ...notificationLines(pause).map((line) => `    ${style.yellow('!')} ${line}`),
    ...tableLines(
      inputFields(pause.inputFormat)
        .map(fieldRow)
        .map(([name, description]) => [`    ${style.cyan('?')} ${name}`, style.dim(description)]),
    ),
    `  ${style.cyan('→')} ${runsCommand('resume', context, ...pointArgs, ...inputArgs, ...blockArgs)}`,
  ];
}

const CONTROL_CHARACTER_PATTERN = new RegExp(`[${CONTROL_CHARACTERS}]`, 'g');

/** Returns the tool calls of an agent that the pause asks to approve, with their complete arguments as JSON. */
function callsOf({ output }: Pause): [id: string, name: string, args: string][] {
  const calls = isJsonObject(output) ? getOwn(output, 'calls') : undefined;
  if (!Array.isArray(calls)) return [];
  return calls.filter(isJsonObject).map((call) => {
    const args = JSON.stringify(getOwn(call, 'arguments') ?? {});
    const escapedArgs = args.replaceAll(
      CONTROL_CHARACTER_PATTERN,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
    return [
      sanitizeLine(toText(getOwn(call, 'id'))),
      sanitizeLine(toText(getOwn(call, 'name'))),
      escapedArgs,
    ];
  });
}

/** Returns the data that the pause point shows. */
function shownRows(pause: Pause): [string, string][] {
  const items = itemsOf(pause, 'responseStructure');
  return items.map((item) => [
    sanitizeLine(toText(getOwn(item, 'name'))),
    sanitizeLine(toText(getOwn(item, 'value'))),
  ]);
}

/** Returns a line for each notification that failed or whose outcome is unknown, with the reason. */
function notificationLines(pause: Pause): string[] {
  return itemsOf(pause, 'notifications')
    .filter((item) => getOwn(item, 'status') !== 'sent')
    .map((item) => {
      const name = toText(getOwn(item, 'title')) || toText(getOwn(item, 'type')) || 'notification';
      const outcome = getOwn(item, 'status') === 'unknown' ? 'may not have been sent' : 'was not sent';
      return sanitizeLine(`${name} ${outcome}: ${toText(getOwn(item, 'error'))}`);
    });
}

/** Returns the items of a list in the data of a pause. */
function itemsOf({ output }: Pause, name: string): JsonObject[] {
  const response = isJsonObject(output) ? getOwn(output, 'response') : undefined;
  const data = isJsonObject(response) ? getOwn(response, 'data') : undefined;
  const items = isJsonObject(data) ? getOwn(data, name) : undefined;
  return Array.isArray(items) ? items.filter(isJsonObject) : [];
}

/** Returns the name of a field and its type with its description. */
function fieldRow({ name, type, required, description }: InputField): [string, string] {
  const explanation = description === undefined ? '' : `: ${description}`;
  return [sanitizeLine(name), sanitizeLine(`${type}${required ? ', required' : ''}${explanation}`)];
}

const EXAMPLES: { [type: string]: Json } = { boolean: true, number: 0, object: {}, array: [], 'file[]': [] };

function exampleInput(pause: Pause): { [name: string]: Json } {
  return Object.fromEntries(
    inputFields(pause.inputFormat).map(({ name, type, value = '' }) => [
      sanitizeLine(name),
      value === '' ? (EXAMPLES[type] ?? '') : value,
    ]),
  );
}

function toText(value: Json | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
