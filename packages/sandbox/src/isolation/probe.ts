import { existsSync, readFileSync } from 'node:fs';
import type { Confinement } from './confine.ts';
import { findHostTools, type HostTools } from './host-tools.ts';
import { isAtLeast, type IsolationLevel, type ResolvedIsolation } from './options.ts';
import {
  checkNode,
  checkTool,
  failed,
  ok,
  sentence,
  type IsolationCheck,
  type IsolationReport,
} from './report.ts';
import { selfTest, SELF_TEST } from './self-test.ts';
import { checkUsers } from './users.ts';

/** A switch of the kernel, or null where it has none of that name. */
function sysctl(name: string): string | null {
  try {
    return readFileSync(`/proc/sys/${name.replaceAll('.', '/')}`, 'utf8').trim();
  } catch {
    return null;
  }
}

const SWITCHES: readonly { name: string; off: string; remedy: string }[] = [
  {
    name: 'kernel.unprivileged_userns_clone',
    off: '0',
    remedy: 'sysctl -w kernel.unprivileged_userns_clone=1',
  },
  { name: 'user.max_user_namespaces', off: '0', remedy: 'sysctl -w user.max_user_namespaces=10000' },
  {
    name: 'kernel.apparmor_restrict_unprivileged_userns',
    off: '1',
    remedy:
      'give bwrap an AppArmor profile with "userns,", or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0',
  },
];

const CONTAINER_MARKS = ['/.dockerenv', '/run/.containerenv', '/var/run/secrets/kubernetes.io'];

/** What to do where bubblewrap may not make namespaces; the likeliest cause that can be seen from here. */
function namespaceRemedy(): string {
  const found = SWITCHES.find(({ name, off }) => sysctl(name) === off);
  if (found !== undefined) return `user namespaces are switched off by ${found.name}; ${found.remedy}`;
  if (CONTAINER_MARKS.some((mark) => existsSync(mark)))
    return 'the container runtime forbids namespaces; allow unshare, clone and mount in its seccomp profile (docs/sandbox.md, "In containers")';
  return 'allow user namespaces to unprivileged users (docs/sandbox.md, "On a host")';
}

/** What a probe found: what a person is told, and how processes are started. */
export interface Probed {
  readonly report: IsolationReport;
  readonly confinement: Confinement;
}

/** A confinement to try; `without` says what it lacks, for messages. */
interface Attempt extends Confinement {
  readonly without: string;
}

type Asked = Pick<ResolvedIsolation, 'level' | 'uids' | 'bubblewrap'>;

const ARCHITECTURES = ['x64', 'arm64'];
const WITH_USERS = /^a process did not start: setpriv: set/;
const IN_NAMESPACES = /namespace|uid map|mount|pivot_root/i;

function checkBubblewrap({ bubblewrap }: HostTools, given: string | undefined): IsolationCheck {
  if (given === undefined || bubblewrap !== null)
    return checkTool('bubblewrap', bubblewrap, 'bubblewrap', 'gives processes namespaces of their own');
  return failed('bubblewrap', `${given} cannot be run`, 'correct isolation.bubblewrap');
}

function explain({ level, without }: Attempt, problem: string): IsolationCheck {
  const name = `self-test ${level}`;
  const found = `At the level ${level}${without} ${problem}`;
  if (level === 'strict' && IN_NAMESPACES.test(problem)) return failed(name, found, namespaceRemedy());
  if (WITH_USERS.test(problem))
    return failed(name, found, 'give the host the capabilities SETUID and SETGID, or do not run it as root');
  return failed(
    name,
    found,
    'heddle sandbox doctor shows every check; docs/sandbox.md says what each level needs',
  );
}

/** What a level keeps from a process, and what it does not. */
function refused({ level, uids }: Attempt): string {
  if (level === 'strict') return 'was refused everything';
  const open = uids === null ? 'the network, and its host to signal,' : 'the network';
  return `was refused files, processes and memory; ${open} it would have reached`;
}

async function testLevel(attempt: Attempt, execPath: string): Promise<IsolationCheck> {
  const problem = await selfTest(attempt, execPath);
  if (problem !== null) return explain(attempt, problem);
  return ok(
    `self-test ${attempt.level}`,
    `A process${attempt.without} that tried to break out ${refused(attempt)}`,
  );
}

/** What each level needs before it is worth a try. */
function preconditions(
  tools: HostTools,
  asked: Asked,
  execPath: string,
): Record<'standard' | 'strict', IsolationCheck[]> {
  const files = [SELF_TEST, execPath, ...(tools.bubblewrap === null ? [] : [tools.bubblewrap])];
  const prlimit = checkTool('prlimit', tools.prlimit, 'util-linux', 'limits what a process may take');
  const users = checkUsers(tools.setpriv, asked.uids, files);
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

/** The ways to a level, the best first: where users cannot be changed or privileges dropped, there are still limits. */
function attemptsAt(confinement: Confinement): Attempt[] {
  const { level, tools, uids } = confinement;
  const best = { ...confinement, without: '' };
  if (level === 'strict' || tools.setpriv === null) return [best];
  const asHost = { level, tools, uids: null, without: ' without a user of its own' };
  const alone = { ...asHost, tools: { ...tools, setpriv: null }, without: ' that kept its privileges' };
  return uids === null ? [best, alone] : [best, asHost, alone];
}

/** What can be told without starting anything. */
interface Plan {
  readonly tools: HostTools;
  readonly checks: readonly IsolationCheck[];
  /** Why a level is not worth a try. */
  readonly blocked: IsolationReport['reasons'];
  /** To be tried in this order. */
  readonly attempts: readonly Attempt[];
}

/** What no process above `basic` can do without. */
function whyHopeless(execPath: string): IsolationCheck | null {
  if (process.platform !== 'linux') {
    const found = `Only Linux confines processes further, and this is ${process.platform}`;
    return failed('platform', found, 'run the host on Linux');
  }
  return execPath === process.execPath ? checkNode(process.versions.node) : null;
}

function planFor(asked: Asked, execPath: string): Plan {
  const tools = findHostTools(asked.bubblewrap);
  const hopeless = whyHopeless(execPath);
  if (hopeless !== null) {
    const why = sentence(hopeless);
    return { tools, checks: [hopeless], blocked: { standard: [why], strict: [why] }, attempts: [] };
  }
  const needs = preconditions(tools, asked, execPath);
  const checks = [...new Set([...needs.standard, ...needs.strict])];
  const uids = checks.some(({ name, result }) => name === 'users' && result === 'ok') ? asked.uids : null;
  const blocked: Partial<Record<IsolationLevel, readonly string[]>> = {};
  const attempts: Attempt[] = [];
  const highest = asked.level === 'best' ? 'strict' : asked.level;
  for (const level of ['strict', 'standard'] as const) {
    if (!isAtLeast(highest, level)) continue;
    const blockers = needs[level].filter((check) => isBlocker(level, check));
    if (blockers.length > 0) blocked[level] = blockers.map(sentence);
    else attempts.push(...attemptsAt({ level, tools, uids }));
  }
  return { tools, checks, blocked, attempts };
}

/** Tries out what is planned, until something holds. */
async function tryOut({ tools, checks, blocked, attempts }: Plan, execPath: string): Promise<Probed> {
  const tests: IsolationCheck[] = [];
  const reasons: Partial<Record<IsolationLevel, readonly string[]>> = { ...blocked };
  const reportAt = (level: IsolationLevel): IsolationReport => ({
    level,
    checks: [...checks, ...tests],
    reasons,
  });
  for (const attempt of attempts) {
    const { level } = attempt;
    const test = await testLevel(attempt, execPath);
    tests.push(test);
    if (test.result === 'ok') {
      delete reasons[level];
      return { report: reportAt(level), confinement: attempt };
    }
    reasons[level] = [...(reasons[level] ?? []), sentence(test)];
  }
  return { report: reportAt('basic'), confinement: { level: 'basic', tools, uids: null } };
}

/** A probe under way. */
export interface Probe {
  /** What will come of it, unless the host is other than it looks. */
  readonly expected: Confinement;
  readonly probed: Promise<Probed>;
}

const probes = new Map<string, Probe>();

/** What this host reaches, up to the level that is asked for; tried out once per process for the same question, if it is as it looks. */
export function probeOnce(asked: Asked, execPath: string): Probe {
  const { level, uids, bubblewrap } = asked;
  const key = JSON.stringify([level, uids.from, uids.to, bubblewrap, execPath]);
  const before = probes.get(key);
  if (before !== undefined) return before;
  const plan = planFor(asked, execPath);
  const expected = plan.attempts[0] ?? { level: 'basic', tools: plan.tools, uids: null };
  const probe = { expected, probed: tryOut(plan, execPath) };
  probes.set(key, probe);
  // What failed may be passing, as a machine without memory is: the next one who asks has it tried again.
  void probe.probed.then(({ confinement }) => confinement === expected || probes.delete(key));
  return probe;
}
