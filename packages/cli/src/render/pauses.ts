import type { Json, JsonObject } from '@heddle/core';
import { isJsonObject, own } from '@heddle/core/blocks';
import { inputFields } from '@heddle/core/fields';
import type { InputField } from '@heddle/core/fields';
import type { RunDetail } from '@heddle/engine';
import { runsCommand } from './commands.ts';
import type { CommandContext } from './commands.ts';
import { CONTROLS, sanitizeLine } from './style.ts';
import type { Style } from './style.ts';
import { table } from './table.ts';

type Pause = RunDetail['pauses'][number];

/** Returns lines with the data, the fields and the answering command of each pause point that waits for a person. */
export function pauseLines(pauses: readonly Pause[], context: CommandContext & { style: Style }): string[] {
  const openPauses = pauses.filter(({ kind }) => kind === 'human');
  return openPauses.flatMap((pause) => linesOf(pause, openPauses.length > 1, context));
}

function linesOf(pause: Pause, needsPoint: boolean, context: CommandContext & { style: Style }): string[] {
  const { style, blockArgs = [] } = context;
  const pointArgs = needsPoint ? ['--point', pause.token] : [];
  const calls = callsOf(pause);
  if (calls.length > 0) {
    const approve = runsCommand('resume', context, ...pointArgs, '--approve', 'all', ...blockArgs);
    return [
      '',
      `  ${style.bold(sanitizeLine(pause.blockName))} ${style.dim('waits for the approval of calls')}`,
      ...table(calls.map(([id, name, args]) => [`    ${style.cyan(id)}`, name, args])),
      `  ${style.cyan('→')} ${approve}`,
      style.dim('    or --approve CALLS, --deny CALLS --reason TEXT, --edit CALL=JSON'),
    ];
  }
  const example = JSON.stringify(exampleInput(pause));
  const inputArgs = example === '{}' ? [] : ['--input', example];
  return [
    '',
    `  ${style.bold(sanitizeLine(pause.blockName))} ${style.dim('waits for an answer')}`,
    ...table(shownRows(pause).map(([name, value]) => [`    ${style.dim(name)}`, value])),
    ...notificationLines(pause).map((line) => `    ${style.yellow('!')} ${line}`),
    ...table(
      inputFields(pause.inputFormat)
        .map(fieldRow)
        .map(([name, description]) => [`    ${style.cyan('?')} ${name}`, style.dim(description)]),
    ),
    `  ${style.cyan('→')} ${runsCommand('resume', context, ...pointArgs, ...inputArgs, ...blockArgs)}`,
  ];
}

const EACH_CONTROL = new RegExp(`[${CONTROLS}]`, 'g');

/** Returns the tool calls of an agent that the pause asks to approve, with their complete arguments as JSON. */
function callsOf({ output }: Pause): [id: string, name: string, args: string][] {
  const calls = isJsonObject(output) ? own(output, 'calls') : undefined;
  if (!Array.isArray(calls)) return [];
  return calls.filter(isJsonObject).map((call) => {
    const args = JSON.stringify(own(call, 'arguments') ?? {});
    const escaped = args.replaceAll(
      EACH_CONTROL,
      (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
    return [sanitizeLine(toText(own(call, 'id'))), sanitizeLine(toText(own(call, 'name'))), escaped];
  });
}

/** Returns the data that the pause point shows. */
function shownRows(pause: Pause): [string, string][] {
  const items = itemsOf(pause, 'responseStructure');
  return items.map((item) => [
    sanitizeLine(toText(own(item, 'name'))),
    sanitizeLine(toText(own(item, 'value'))),
  ]);
}

/** Returns a line for each notification that failed or whose outcome is unknown, with the reason. */
function notificationLines(pause: Pause): string[] {
  return itemsOf(pause, 'notifications')
    .filter((item) => own(item, 'status') !== 'sent')
    .map((item) => {
      const name = toText(own(item, 'title')) || toText(own(item, 'type')) || 'notification';
      const outcome = own(item, 'status') === 'unknown' ? 'may not have been sent' : 'was not sent';
      return sanitizeLine(`${name} ${outcome}: ${toText(own(item, 'error'))}`);
    });
}

/** Returns the items of a list in the data of a pause. */
function itemsOf({ output }: Pause, name: string): JsonObject[] {
  const response = isJsonObject(output) ? own(output, 'response') : undefined;
  const data = isJsonObject(response) ? own(response, 'data') : undefined;
  const items = isJsonObject(data) ? own(data, name) : undefined;
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
