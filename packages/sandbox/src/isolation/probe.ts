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
import { findSelfTestProblem, SELF_TEST_FILE } from './self-test.ts';
import { checkUsers } from './users.ts';

/** Returns a kernel setting, or undefined if it does not exist. */
function readSysctl(name: string): string | undefined {
  try {
    return readFileSync(`/proc/sys/${name.replaceAll('.', '/')}`, 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** Kernel settings that forbid user namespaces if their value is `offValue`. */
const NAMESPACE_SETTINGS: readonly { name: string; offValue: string; hint: string }[] = [
  {
    name: 'kernel.unprivileged_userns_clone',
    offValue: '0',
    hint: 'sysctl -w kernel.unprivileged_userns_clone=1',
  },
  { name: 'user.max_user_namespaces', offValue: '0', hint: 'sysctl -w user.max_user_namespaces=10000' },
  {
    name: 'kernel.apparmor_restrict_unprivileged_userns',
    offValue: '1',
    hint: 'give bwrap an AppArmor profile with "userns,", or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0',
  },
];

const CONTAINER_MARKERS = ['/.dockerenv', '/run/.containerenv', '/var/run/secrets/kubernetes.io'];

/** Returns the hint if bubblewrap may not create namespaces, based on the most likely visible cause. */
function namespaceHint(): string {
  const setting = NAMESPACE_SETTINGS.find(({ name, offValue }) => readSysctl(name) === offValue);
  if (setting !== undefined) return `user namespaces are switched off by ${setting.name}; ${setting.hint}`;
  if (CONTAINER_MARKERS.some((marker) => existsSync(marker)))
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

function failedSelfTestCheck({ level, weakness }: Attempt, problem: string): IsolationCheck {
  const name = `self-test ${level}`;
  const found = `At the level ${level}${weakness} ${problem}`;
  if (level === 'strict' && NAMESPACE_PROBLEM.test(problem)) return failedCheck(name, found, namespaceHint());
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
function describeProtection({ level, uids }: Attempt): string {
  if (level === 'strict') return 'was refused everything';
  const gaps = uids === undefined ? 'the network and signalled its host' : 'the network';
  return `was refused files, processes and memory; it could have reached ${gaps}`;
}

async function testLevel(attempt: Attempt, execPath: string): Promise<IsolationCheck> {
  const problem = await findSelfTestProblem(attempt, execPath);
  if (problem !== undefined) return failedSelfTestCheck(attempt, problem);
  return passedCheck(
    `self-test ${attempt.level}`,
    `A process${attempt.weakness} that tried to escape ${describeProtection(attempt)}`,
  );
}

/** Checks what each level needs before it is tried. */
function checkPreconditions(
  tools: HostTools,
  options: ProbeOptions,
  execPath: string,
): Record<'standard' | 'strict', IsolationCheck[]> {
  const files = [SELF_TEST_FILE, execPath, ...(tools.bubblewrap === undefined ? [] : [tools.bubblewrap])];
  const prlimitCheck = checkTool('prlimit', tools.prlimit, 'util-linux', 'limits the resources of processes');
  const usersCheck = checkUsers(tools.setpriv, options.uids, files);
  const hasFilter = ARCHITECTURES.includes(process.arch);
  const filterCheck = hasFilter
    ? passedCheck('seccomp', `The filter of system calls is known for ${process.arch}`)
    : failedCheck(
        'seccomp',
        `There is no filter of system calls for ${process.arch}`,
        `use ${ARCHITECTURES.join(' or ')}`,
      );
  return {
    standard: [prlimitCheck, usersCheck],
    strict: [prlimitCheck, usersCheck, checkBubblewrap(tools, options.bubblewrap), filterCheck],
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
  const completeAttempt = { ...confinement, weakness: '' };
  if (level === 'strict' || tools.setpriv === undefined) return [completeAttempt];
  const hostUserAttempt = { level, tools, uids: undefined, weakness: ' without a separate user' };
  const privilegedAttempt = {
    ...hostUserAttempt,
    tools: { ...tools, setpriv: undefined },
    weakness: ' that kept its privileges',
  };
  return uids === undefined
    ? [completeAttempt, privilegedAttempt]
    : [completeAttempt, hostUserAttempt, privilegedAttempt];
}

/** The facts that are known before anything is started. */
interface ProbePlan {
  readonly tools: HostTools;
  readonly checks: readonly IsolationCheck[];
  /** Reasons why levels cannot be tried, by level. */
  readonly unavailableReasons: IsolationReport['reasons'];
  /** The confinements to try, in order. */
  readonly attempts: readonly Attempt[];
}

/** Returns why only `basic` is possible; undefined if other levels may be. */
function basicOnlyCheck(execPath: string): IsolationCheck | undefined {
  if (process.platform !== 'linux') {
    const found = `Only Linux confines processes further, and this is ${process.platform}`;
    return failedCheck('platform', found, 'run the host on Linux');
  }
  return execPath === process.execPath ? checkNode(process.versions.node) : undefined;
}

function planProbe(options: ProbeOptions, execPath: string): ProbePlan {
  const tools = findHostTools(options.bubblewrap);
  const blockingCheck = basicOnlyCheck(execPath);
  if (blockingCheck !== undefined) {
    const reason = toSentence(blockingCheck);
    return {
      tools,
      checks: [blockingCheck],
      unavailableReasons: { standard: [reason], strict: [reason] },
      attempts: [],
    };
  }
  const preconditionChecks = checkPreconditions(tools, options, execPath);
  const checks = [...new Set([...preconditionChecks.standard, ...preconditionChecks.strict])];
  const uids = checks.some(({ name, result }) => name === 'users' && result === 'ok')
    ? options.uids
    : undefined;
  const unavailableReasons: Partial<Record<IsolationLevel, readonly string[]>> = {};
  const attempts: Attempt[] = [];
  const highestLevel = options.level === 'best' ? 'strict' : options.level;
  for (const level of ['strict', 'standard'] as const) {
    if (!isAtLeast(highestLevel, level)) continue;
    const blockers = preconditionChecks[level].filter((check) => isBlocker(level, check));
    if (blockers.length > 0) unavailableReasons[level] = blockers.map(toSentence);
    else attempts.push(...attemptsAt({ level, tools, uids }));
  }
  return { tools, checks, unavailableReasons, attempts };
}

/** Tries the planned confinements in order, until one passes its self-test. */
async function tryAttempts(
  { tools, checks, unavailableReasons, attempts }: ProbePlan,
  execPath: string,
): Promise<ProbeResult> {
  const selfTestChecks: IsolationCheck[] = [];
  const reasons: Partial<Record<IsolationLevel, readonly string[]>> = { ...unavailableReasons };
  const createReport = (level: IsolationLevel): IsolationReport => ({
    level,
    checks: [...checks, ...selfTestChecks],
    reasons,
  });
  for (const attempt of attempts) {
    const { level } = attempt;
    const selfTestCheck = await testLevel(attempt, execPath);
    selfTestChecks.push(selfTestCheck);
    if (selfTestCheck.result === 'ok') {
      delete reasons[level];
      return { report: createReport(level), confinement: attempt };
    }
    reasons[level] = [...(reasons[level] ?? []), toSentence(selfTestCheck)];
  }
  return { report: createReport('basic'), confinement: { level: 'basic', tools, uids: undefined } };
}

/** A probe in progress. */
export interface Probe {
  /** The confinement that is expected, judging by what is visible without starting anything. */
  readonly expectedConfinement: Confinement;
  readonly result: Promise<ProbeResult>;
}

const probes = new Map<string, Probe>();

/** Probes the host up to the requested level. The result is cached for the same options, unless it is unexpected. */
export function probeOnce(options: ProbeOptions, execPath: string): Probe {
  const { level, uids, bubblewrap } = options;
  const key = JSON.stringify([level, uids.from, uids.to, bubblewrap, execPath]);
  const cachedProbe = probes.get(key);
  if (cachedProbe !== undefined) return cachedProbe;
  const plan = planProbe(options, execPath);
  const expectedConfinement = plan.attempts[0] ?? { level: 'basic', tools: plan.tools, uids: undefined };
  const probe = { expectedConfinement, result: tryAttempts(plan, execPath) };
  probes.set(key, probe);
  // A failure may be temporary, for example lack of memory, so the next call probes again.
  void probe.result.then(({ confinement }) => confinement === expectedConfinement || probes.delete(key));
  return probe;
}
