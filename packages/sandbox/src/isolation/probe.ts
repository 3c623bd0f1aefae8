import { existsSync, realpathSync } from 'node:fs';
import type { Confinement } from './confine.ts';
import { findHostTools, TOOL_FOLDERS, type HostTools } from './host-tools.ts';
import { isAtLeast, type IsolationLevel } from './level.ts';
import { namespaceRemedy } from './namespaces.ts';
import type { ResolvedIsolation } from './options.ts';
import { barrierTo } from './reach.ts';
import { sentence, type IsolationCheck, type IsolationReport } from './report.ts';
import { selfTest, SELF_TEST } from './self-test.ts';

/** What a probe found: what a person is told, and how processes are started. */
export interface Probed {
  readonly report: IsolationReport;
  readonly confinement: Confinement;
}

type Asked = Pick<ResolvedIsolation, 'level' | 'uids' | 'bubblewrap'>;

const ARCHITECTURES = ['x64', 'arm64'];
const IN_NAMESPACES = /namespace|uid map|mount|pivot_root/i;

const ok = (name: string, found: string): IsolationCheck => ({ name, result: 'ok', found });
const failed = (name: string, found: string, remedy: string): IsolationCheck => ({
  name,
  result: 'failed',
  found,
  remedy,
});

function checkTool(name: string, path: string | null, packageName: string, why: string): IsolationCheck {
  if (path !== null) return ok(name, `${name} is ${path}`);
  const where = `${name} is not in ${TOOL_FOLDERS.join(', ')}`;
  return failed(name, `${where}; it ${why}`, `apt install ${packageName}, or the package of your system`);
}

function checkBubblewrap({ bubblewrap }: HostTools, given: string | undefined): IsolationCheck {
  if (given === undefined || bubblewrap !== null)
    return checkTool('bubblewrap', bubblewrap, 'bubblewrap', 'gives processes namespaces of their own');
  return failed('bubblewrap', `${given} cannot be run`, 'correct isolation.bubblewrap');
}

/** Whether processes get users of their own; an answer of `off` leaves them the host's. */
function checkUsers(setpriv: string | null, files: readonly string[]): IsolationCheck {
  const name = 'users';
  if (process.geteuid?.() !== 0)
    return { name, result: 'off', found: 'The host is not root, so processes are its user' };
  if (setpriv === null) return checkTool('setpriv', null, 'util-linux', 'gives processes users of their own');
  for (const file of files.filter((each) => existsSync(each))) {
    const barrier = barrierTo(realpathSync(file));
    if (barrier === null) continue;
    const found = `Processes run as root, because no other user can read ${file}`;
    return failed(
      name,
      found,
      `chmod o+rX ${barrier}, install Heddle where all users can read, or do not run it as root`,
    );
  }
  return ok(name, 'Each process becomes a user of its own');
}

function explain(level: IsolationLevel, problem: string): IsolationCheck {
  const name = `self-test ${level}`;
  const found = `At the level ${level} ${problem}`;
  if (level === 'strict' && IN_NAMESPACES.test(problem)) return failed(name, found, namespaceRemedy());
  return failed(
    name,
    found,
    'heddle sandbox doctor shows every check; docs/sandbox.md says what each level needs',
  );
}

async function testLevel(confinement: Confinement, execPath: string): Promise<IsolationCheck> {
  const problem = await selfTest(confinement, execPath);
  if (problem !== null) return explain(confinement.level, problem);
  return ok(`self-test ${confinement.level}`, 'A process that tried to break out was refused everything');
}

/** What each level needs before it is worth a try. */
function preconditions(
  tools: HostTools,
  asked: Asked,
  execPath: string,
): Record<'standard' | 'strict', IsolationCheck[]> {
  const files = [SELF_TEST, execPath, ...(tools.bubblewrap === null ? [] : [tools.bubblewrap])];
  const prlimit = checkTool('prlimit', tools.prlimit, 'util-linux', 'limits what a process may take');
  const users = checkUsers(tools.setpriv, files);
  const known = ARCHITECTURES.includes(process.arch);
  const filter = known
    ? ok('seccomp', `The filter of system calls is known for ${process.arch}`)
    : failed(
        'seccomp',
        `There is no filter of system calls for ${process.arch}`,
        `use ${ARCHITECTURES.join(' or ')}`,
      );
  return {
    standard: [prlimit, users],
    strict: [prlimit, users, checkBubblewrap(tools, asked.bubblewrap), filter],
  };
}

/** The one check that a level can do without: see `checkUsers`. */
const isBlocker = (level: IsolationLevel, check: IsolationCheck): boolean =>
  check.result === 'failed' && !(level === 'standard' && check.name === 'users');

/** What this host reaches, up to the level that is asked for; every step is really taken. */
async function probe(asked: Asked, execPath: string): Promise<Probed> {
  const tools = findHostTools(asked.bubblewrap);
  if (process.platform !== 'linux') {
    const found = `Only Linux confines processes further, and this is ${process.platform}`;
    const reasons = { standard: [`${found}.`], strict: [`${found}.`] };
    const checks: IsolationCheck[] = [failed('platform', found, 'run the host on Linux')];
    return {
      report: { level: 'basic', checks, reasons },
      confinement: { level: 'basic', tools, uids: null },
    };
  }
  const needs = preconditions(tools, asked, execPath);
  const checks = [...new Set([...needs.standard, ...needs.strict])];
  const uids = checks.some(({ name, result }) => name === 'users' && result === 'ok') ? asked.uids : null;
  const reasons: Partial<Record<IsolationLevel, readonly string[]>> = {};
  const highest = asked.level === 'best' ? 'strict' : asked.level;
  for (const level of ['strict', 'standard'] as const) {
    if (!isAtLeast(highest, level)) continue;
    const blockers = needs[level].filter((check) => isBlocker(level, check));
    if (blockers.length === 0) {
      const confinement: Confinement = { level, tools, uids };
      const test = await testLevel(confinement, execPath);
      checks.push(test);
      if (test.result === 'ok') return { report: { level, checks, reasons }, confinement };
      blockers.push(test);
    }
    reasons[level] = blockers.map(sentence);
  }
  return { report: { level: 'basic', checks, reasons }, confinement: { level: 'basic', tools, uids: null } };
}

const probes = new Map<string, Promise<Probed>>();

/** `probe`, once per process for the same question. */
export function probeOnce(asked: Asked, execPath: string): Promise<Probed> {
  const { level, uids, bubblewrap } = asked;
  const key = JSON.stringify([level, uids.from, uids.to, bubblewrap, execPath]);
  const before = probes.get(key);
  if (before !== undefined) return before;
  const probing = probe(asked, execPath);
  probes.set(key, probing);
  return probing;
}
