import { existsSync, readFileSync } from 'node:fs';
import type { Confinement } from './confine.ts';
import { findHostTools, type HostTools } from './host-tools.ts';
import { isAtLeast, type IsolationLevel, type ResolvedIsolation } from './options.ts';
import {
  checkNode,
  checkTool,
  failedCheck,
  passedCheck,
  toSentence,
  type IsolationCheck,
  type IsolationReport,
} from './report.ts';
import { selfTest, SELF_TEST } from './self-test.ts';
import { checkUsers } from './users.ts';

/** Returns a kernel setting, or undefined if it does not exist. */
function sysctl(name: string): string | undefined {
  try {
    return readFileSync(`/proc/sys/${name.replaceAll('.', '/')}`, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** Kernel settings that forbid user namespaces if their value is `off`. */
const NAMESPACE_SETTINGS: readonly { name: string; off: string; hint: string }[] = [
  {
    name: 'kernel.unprivileged_userns_clone',
    off: '0',
    hint: 'sysctl -w kernel.unprivileged_userns_clone=1',
  },
  { name: 'user.max_user_namespaces', off: '0', hint: 'sysctl -w user.max_user_namespaces=10000' },
  {
    name: 'kernel.apparmor_restrict_unprivileged_userns',
    off: '1',
    hint: 'give bwrap an AppArmor profile with "userns,", or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0',
  },
];

const CONTAINER_MARKS = ['/.dockerenv', '/run/.containerenv', '/var/run/secrets/kubernetes.io'];

/** Returns the hint if bubblewrap may not create namespaces, based on the most likely visible cause. */
function namespaceRemedy(): string {
  const setting = NAMESPACE_SETTINGS.find(({ name, off }) => sysctl(name) === off);
  if (setting !== undefined) return `user namespaces are switched off by ${setting.name}; ${setting.hint}`;
  if (CONTAINER_MARKS.some((mark) => existsSync(mark)))
    return 'the container runtime forbids namespaces; allow unshare, clone and mount in its seccomp profile (docs/sandbox.md, "In containers")';
  return 'allow user namespaces to unprivileged users (docs/sandbox.md, "On a host")';
}

/** The result of a probe: a human-readable report, and how processes are started. */
export interface ProbeResult {
  readonly report: IsolationReport;
  readonly confinement: Confinement;
}

/** A confinement to try. `weakness` is a phrase for messages about what it lacks; empty if nothing. */
interface Attempt extends Confinement {
  readonly weakness: string;
}

type ProbeOptions = Pick<ResolvedIsolation, 'level' | 'uids' | 'bubblewrap'>;

const ARCHITECTURES = ['x64', 'arm64'];
const CANNOT_SET_USER = /^a process did not start: setpriv: set/;
const NAMESPACE_PROBLEM = /namespace|uid map|mount|pivot_root/i;

function checkBubblewrap({ bubblewrap }: HostTools, configuredPath: string | undefined): IsolationCheck {
  if (configuredPath === undefined || bubblewrap !== undefined)
    return checkTool('bubblewrap', bubblewrap, 'bubblewrap', 'gives processes their own namespaces');
  return failedCheck('bubblewrap', `${configuredPath} cannot be run`, 'correct isolation.bubblewrap');
}

function failedSelfTest({ level, weakness }: Attempt, problem: string): IsolationCheck {
  const name = `self-test ${level}`;
  const found = `At the level ${level}${weakness} ${problem}`;
  if (level === 'strict' && NAMESPACE_PROBLEM.test(problem))
    return failedCheck(name, found, namespaceRemedy());
  if (CANNOT_SET_USER.test(problem))
    return failedCheck(
      name,
      found,
      'give the host the capabilities SETUID and SETGID, or do not run it as root',
    );
  return failedCheck(
    name,
    found,
    'heddle sandbox doctor shows every check; docs/sandbox.md says what each level needs',
  );
}

/** Describes the protection of a level, and its gaps. */
function protection({ level, uids }: Attempt): string {
  if (level === 'strict') return 'was refused everything';
  const reachable = uids === undefined ? 'the network and signalled its host' : 'the network';
  return `was refused files, processes and memory; it could have reached ${reachable}`;
}

async function testLevel(attempt: Attempt, execPath: string): Promise<IsolationCheck> {
  const problem = await selfTest(attempt, execPath);
  if (problem !== undefined) return failedSelfTest(attempt, problem);
  return passedCheck(
    `self-test ${attempt.level}`,
    `A process${attempt.weakness} that tried to escape ${protection(attempt)}`,
  );
}

/** Checks what each level needs before it is tried. */
function preconditions(
  tools: HostTools,
  requested: ProbeOptions,
  execPath: string,
): Record<'standard' | 'strict', IsolationCheck[]> {
  const files = [SELF_TEST, execPath, ...(tools.bubblewrap === undefined ? [] : [tools.bubblewrap])];
  const prlimit = checkTool('prlimit', tools.prlimit, 'util-linux', 'limits the resources of processes');
  const users = checkUsers(tools.setpriv, requested.uids, files);
  const hasFilter = ARCHITECTURES.includes(process.arch);
  const filter = hasFilter
    ? passedCheck('seccomp', `The filter of system calls is known for ${process.arch}`)
    : failedCheck(
        'seccomp',
        `There is no filter of system calls for ${process.arch}`,
        `use ${ARCHITECTURES.join(' or ')}`,
      );
  return {
    standard: [prlimit, users],
    strict: [prlimit, users, checkBubblewrap(tools, requested.bubblewrap), filter],
  };
}

/** Returns whether a failed check rules out a level. `standard` works without separate users, see `checkUsers`. */
const isBlocker = (level: IsolationLevel, check: IsolationCheck): boolean =>
  check.result === 'failed' && !(level === 'standard' && check.name === 'users');

/**
 * Returns the confinements to try at a level, strongest first. The weaker ones keep the host's user id or its
 * privileges, but still have resource limits.
 */
function attemptsAt(confinement: Confinement): Attempt[] {
  const { level, tools, uids } = confinement;
  const complete = { ...confinement, weakness: '' };
  if (level === 'strict' || tools.setpriv === undefined) return [complete];
  const asHostUser = { level, tools, uids: undefined, weakness: ' without a separate user' };
  const privileged = {
    ...asHostUser,
    tools: { ...tools, setpriv: undefined },
    weakness: ' that kept its privileges',
  };
  return uids === undefined ? [complete, privileged] : [complete, asHostUser, privileged];
}

/** The facts that are known before anything is started. */
interface ProbePlan {
  readonly tools: HostTools;
  readonly checks: readonly IsolationCheck[];
  /** Reasons why levels cannot be tried, by level. */
  readonly blocked: IsolationReport['reasons'];
  /** The confinements to try, in order. */
  readonly attempts: readonly Attempt[];
}

/** Returns why only `basic` is possible; undefined if other levels may be. */
function basicOnlyReason(execPath: string): IsolationCheck | undefined {
  if (process.platform !== 'linux') {
    const found = `Only Linux confines processes further, and this is ${process.platform}`;
    return failedCheck('platform', found, 'run the host on Linux');
  }
  return execPath === process.execPath ? checkNode(process.versions.node) : undefined;
}

function planFor(requested: ProbeOptions, execPath: string): ProbePlan {
  const tools = findHostTools(requested.bubblewrap);
  const basicOnly = basicOnlyReason(execPath);
  if (basicOnly !== undefined) {
    const reason = toSentence(basicOnly);
    return { tools, checks: [basicOnly], blocked: { standard: [reason], strict: [reason] }, attempts: [] };
  }
  const preconditionChecks = preconditions(tools, requested, execPath);
  const checks = [...new Set([...preconditionChecks.standard, ...preconditionChecks.strict])];
  const uids = checks.some(({ name, result }) => name === 'users' && result === 'ok')
    ? requested.uids
    : undefined;
  const blocked: Partial<Record<IsolationLevel, readonly string[]>> = {};
  const attempts: Attempt[] = [];
  const highest = requested.level === 'best' ? 'strict' : requested.level;
  for (const level of ['strict', 'standard'] as const) {
    if (!isAtLeast(highest, level)) continue;
    const blockers = preconditionChecks[level].filter((check) => isBlocker(level, check));
    if (blockers.length > 0) blocked[level] = blockers.map(toSentence);
    else attempts.push(...attemptsAt({ level, tools, uids }));
  }
  return { tools, checks, blocked, attempts };
}

/** Tries the planned confinements in order, until one passes its self-test. */
async function tryAll(
  { tools, checks, blocked, attempts }: ProbePlan,
  execPath: string,
): Promise<ProbeResult> {
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
    reasons[level] = [...(reasons[level] ?? []), toSentence(test)];
  }
  return { report: reportAt('basic'), confinement: { level: 'basic', tools, uids: undefined } };
}

/** A probe in progress. */
export interface Probe {
  /** The confinement that is expected, judging by what is visible without starting anything. */
  readonly expected: Confinement;
  readonly result: Promise<ProbeResult>;
}

const probes = new Map<string, Probe>();

/** Probes the host up to the requested level. The result is cached for the same options, unless it is unexpected. */
export function probeOnce(requested: ProbeOptions, execPath: string): Probe {
  const { level, uids, bubblewrap } = requested;
  const key = JSON.stringify([level, uids.from, uids.to, bubblewrap, execPath]);
  const cachedProbe = probes.get(key);
  if (cachedProbe !== undefined) return cachedProbe;
  const plan = planFor(requested, execPath);
  const expected = plan.attempts[0] ?? { level: 'basic', tools: plan.tools, uids: undefined };
  const probe = { expected, result: tryAll(plan, execPath) };
  probes.set(key, probe);
  // A failure may be temporary, for example lack of memory, so the next call probes again.
  void probe.result.then(({ confinement }) => confinement === expected || probes.delete(key));
  return probe;
}
