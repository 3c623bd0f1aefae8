import type { IsolationLevel } from './options.ts';
import { TOOL_FOLDERS } from './host-tools.ts';

export const passedCheck = (name: string, found: string): IsolationCheck => ({ name, result: 'ok', found });

export const failedCheck = (name: string, found: string, hint: string): IsolationCheck => ({
  name,
  result: 'failed',
  found,
  hint,
});

/** Checks whether a tool exists; `purpose` says why it is needed. */
export function checkTool(
  tool: string,
  path: string | undefined,
  packageName: string,
  purpose: string,
): IsolationCheck {
  if (path !== undefined) return passedCheck(tool, `${tool} is ${path}`);
  const problem = `${tool} is not in ${TOOL_FOLDERS.join(', ')}`;
  return failedCheck(
    tool,
    `${problem}; it ${purpose}`,
    `apt install ${packageName}, or the package of your system`,
  );
}

/** Minimum major version of Node.js for processes. */
const MIN_NODE_MAJOR = 24;

/** Returns a failed check if the Node.js of processes is too old; undefined if not. */
export function checkNode(version: string): IsolationCheck | undefined {
  if (Number.parseInt(version, 10) >= MIN_NODE_MAJOR) return undefined;
  return failedCheck(
    'node',
    `Node.js ${version} is too old`,
    `run the host on Node.js ${MIN_NODE_MAJOR} or newer`,
  );
}

/** One check of the host. */
export interface IsolationCheck {
  readonly name: string;
  /** `off`: not available, but not needed for any level. */
  readonly result: 'ok' | 'failed' | 'off';
  /** The finding, as a sentence. */
  readonly found: string;
  /** The hint for the operator. */
  readonly hint?: string;
}

/** The isolation level of this host, and why no higher one is available. */
export interface IsolationReport {
  readonly level: IsolationLevel;
  readonly checks: readonly IsolationCheck[];
  /** Reasons for each level that is not available, in sentences. */
  readonly reasons: Readonly<Partial<Record<IsolationLevel, readonly string[]>>>;
}

/** Returns a check as a sentence with its hint. */
export function toSentence({ found, hint }: IsolationCheck): string {
  return hint === undefined ? `${found}.` : `${found}: ${hint}.`;
}
