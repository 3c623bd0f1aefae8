import type { IsolationLevel } from './options.ts';
import { TOOL_FOLDERS } from './host-tools.ts';

export const ok = (name: string, found: string): IsolationCheck => ({ name, result: 'ok', found });

export const failed = (name: string, found: string, remedy: string): IsolationCheck => ({
  name,
  result: 'failed',
  found,
  remedy,
});

/** Whether a tool is there; `why` says what it is for. */
export function checkTool(
  tool: string,
  path: string | null,
  packageName: string,
  why: string,
): IsolationCheck {
  if (path !== null) return ok(tool, `${tool} is ${path}`);
  const where = `${tool} is not in ${TOOL_FOLDERS.join(', ')}`;
  return failed(tool, `${where}; it ${why}`, `apt install ${packageName}, or the package of your system`);
}

/** The oldest Node.js that processes run on. */
const NODE_MAJOR = 24;

/** Whether the Node.js that processes run on is new enough; null where it is. */
export function checkNode(version: string): IsolationCheck | null {
  if (Number.parseInt(version, 10) >= NODE_MAJOR) return null;
  return failed('node', `Node.js ${version} is too old`, `run the host on Node.js ${NODE_MAJOR} or newer`);
}

/** One thing that was looked at. */
export interface IsolationCheck {
  readonly name: string;
  /** `off`: it confines no process, and no level needs it. */
  readonly result: 'ok' | 'failed' | 'off';
  /** What was found, in a sentence. */
  readonly found: string;
  /** What a person can do about it. */
  readonly remedy?: string;
}

/** The level that this host reaches, and why it reaches none above. */
export interface IsolationReport {
  readonly level: IsolationLevel;
  readonly checks: readonly IsolationCheck[];
  /** For each level that is not reached, the reasons, in sentences. */
  readonly reasons: Readonly<Partial<Record<IsolationLevel, readonly string[]>>>;
}

/** A check as a sentence with its remedy. */
export function sentence({ found, remedy }: IsolationCheck): string {
  return remedy === undefined ? `${found}.` : `${found}: ${remedy}.`;
}
