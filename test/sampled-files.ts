import { isSampled, createSeededRandomFor } from './support/seeded-random.ts';

/** Test files of one kind. Each takes 3 to 30 seconds of CPU time. */
interface FileGroup {
  readonly description: string;
  /** The share of the files that a quick run runs. */
  readonly share: number;
  /** The files, sorted by CPU time. */
  readonly files: readonly string[];
}

const GROUPS: readonly FileGroup[] = [
  {
    description: 'the CLI on Temporal',
    share: 1 / 5,
    files: [
      'test/temporal/cli-triggers.test.ts',
      'test/temporal/cli-dev.test.ts',
      'test/temporal/cli-run.test.ts',
      'test/temporal/cli-serve.test.ts',
      'test/temporal/cli-worker.test.ts',
    ],
  },
  {
    description: 'runs on Temporal except the suites of conformance, faults and recorded histories',
    share: 1 / 7,
    files: [
      'test/temporal/docs.test.ts',
      'test/temporal/server.test.ts',
      'test/temporal/attributes.test.ts',
      'test/temporal/run-status.test.ts',
      'test/temporal/call-chain.test.ts',
      'test/temporal/resolve-child.test.ts',
      'test/temporal/terminated-run.test.ts',
      'test/temporal/codec.test.ts',
      'test/temporal/files.test.ts',
      'test/temporal/imported-tools.test.ts',
      'test/temporal/spending.test.ts',
      'test/temporal/segments.test.ts',
      'test/temporal/examples.test.ts',
      'test/temporal/credentials.test.ts',
      'test/temporal/notifications.test.ts',
      'test/temporal/streams.test.ts',
      'test/temporal/resume.test.ts',
      'test/temporal/blocks.test.ts',
      'test/temporal/worker-version.test.ts',
      'test/temporal/approvals.test.ts',
      'test/temporal/exported-agents.test.ts',
      'test/temporal/sandboxes.test.ts',
      'test/temporal/security.test.ts',
      'test/temporal/worker.test.ts',
      'test/temporal/parity/parity.test.ts',
      'test/temporal/replay/continue-as-new.test.ts',
      'test/temporal/memories.test.ts',
    ],
  },
  {
    description: 'processes that are killed',
    share: 1 / 7,
    files: [
      'test/agents/killed-call.test.ts',
      'test/agents/killed-memory.test.ts',
      'packages/images/src/interruptions.test.ts',
      'test/agents/killed-notification.test.ts',
      'test/agents/killed.test.ts',
      'test/cli/killed-runs.test.ts',
      'test/crash/processes.test.ts',
      'test/leases/takeover.test.ts',
      'test/triggers/registrations/killed.test.ts',
      'test/triggers/events-killed.test.ts',
      'test/triggers/feeds/killed.test.ts',
      'test/triggers/schedules-killed.test.ts',
      'test/triggers/webhooks-killed.test.ts',
      'test/triggers/flow-killed.test.ts',
      'test/temporal/killed-agent.test.ts',
      'test/temporal/killed-approval.test.ts',
      'test/temporal/triggers.test.ts',
      'test/triggers/server-and-worker-killed.test.ts',
      'test/agents/killed-approval.test.ts',
    ],
  },
  {
    description: 'servers as processes',
    share: 1 / 7,
    files: [
      'test/cli/logs-export.test.ts',
      'test/cli/remote.test.ts',
      'test/cli/feeds.test.ts',
      'test/cli/schedules.test.ts',
      'test/cli/webhooks.test.ts',
      'test/cli/stream.test.ts',
      'test/client/client.test.ts',
      'test/docs/calls.test.ts',
      'test/cli/serve-tokens.test.ts',
      'test/cli/serve-postgres.test.ts',
      'test/cli/serve.test.ts',
    ],
  },
  {
    description: 'pages in a browser',
    share: 1 / 7,
    files: [
      'test/api/reference.test.ts',
      'test/studio/baselines.test.ts',
      'test/studio/nginx.test.ts',
      'test/chats/browser.test.ts',
      'test/studio/keyboard.test.ts',
      'test/studio/accessibility.test.ts',
      'test/studio/pages.test.ts',
      'test/temporal/studio.test.ts',
      'test/studio/studio.test.ts',
      'test/studio/layout-and-size.test.ts',
      'test/studio/run.test.ts',
    ],
  },
  {
    description: 'images of real packages and tools',
    share: 1 / 7,
    files: [
      'packages/images/src/native/tools/real-registry.test.ts',
      'packages/images/src/native/debian/release.test.ts',
      'packages/images/src/native/builder.test.ts',
      'packages/images/src/javascript/npm.test.ts',
      'packages/images/src/javascript/npm-host-crash.test.ts',
      'packages/images/src/javascript/builder.test.ts',
      'packages/images/src/javascript/real-registry.test.ts',
      'packages/images/src/native/tools/go/compile.test.ts',
      'packages/images/src/javascript/image.test.ts',
      'packages/images/src/python/builder.test.ts',
      'packages/images/src/native/scripts.test.ts',
      'packages/images/src/python/image.test.ts',
      'packages/images/src/python/real-registry.test.ts',
    ],
  },
  {
    description: 'sandboxes in the CLI and native code',
    share: 1 / 5,
    files: [
      'packages/sandbox/src/native/native-egress.test.ts',
      'test/cli/sandbox-messages.test.ts',
      'test/cli/sandbox.test.ts',
      'packages/sandbox/src/native/native-attacks.test.ts',
      'packages/sandbox/src/native/native.test.ts',
    ],
  },
  {
    description: 'Python in the sandbox',
    share: 1 / 7,
    files: [
      'packages/sandbox/src/python-network.test.ts',
      'test/engine/sandbox-snapshot.test.ts',
      'packages/sandbox/src/python-memory.test.ts',
      'test/attacks/python-interpreter.test.ts',
      'test/attacks/python.test.ts',
      'packages/sandbox/src/python-patches.test.ts',
      'test/attacks/python-packages.test.ts',
      'packages/sandbox/src/python-values.test.ts',
      'test/attacks/python-exhaustion.test.ts',
      'packages/sandbox/src/python.test.ts',
      'packages/sandbox/src/python-limits.test.ts',
    ],
  },
  {
    description: 'records on PostgreSQL and in several processes',
    share: 1 / 5,
    files: [
      'packages/service/src/limits/shared.test.ts',
      'test/stores/shared.test.ts',
      'test/stores/postgres-faults.test.ts',
      'test/leases/store.test.ts',
      'test/stores/processes.test.ts',
      'test/stores/postgres.test.ts',
      'test/security/postgres.test.ts',
      'test/leases/conformance.test.ts',
    ],
  },
  {
    description: 'work counted in operations',
    share: 1 / 3,
    files: [
      'test/operations/drafts.test.ts',
      'test/operations/strings.test.ts',
      'test/operations/values.test.ts',
      'test/operations/transfer.test.ts',
      'test/operations/workflows.test.ts',
      'test/operations/openapi.test.ts',
    ],
  },
  {
    description: 'attacks on the sandbox',
    share: 1 / 5,
    files: [
      'test/attacks/suite.test.ts',
      'test/attacks/leaks.test.ts',
      'packages/sandbox/src/isolation/breakout.test.ts',
      'test/attacks/fuzz.test.ts',
      'test/attacks/endless.test.ts',
      'test/attacks/bridge.test.ts',
      'test/attacks/cancel.test.ts',
      'test/attacks/exhaustion.test.ts',
      'test/attacks/neighbours.test.ts',
      'test/attacks/tenants.test.ts',
      'test/attacks/builds.test.ts',
      'test/attacks/egress.test.ts',
      'test/attacks/escaped.test.ts',
      'test/attacks/packages.test.ts',
    ],
  },
];

/**
 * Returns the files that a quick run with this seed skips, each with the reason. The files that run are evenly spaced
 * in their group, which is sorted by CPU time, so that all quick runs take about the same time. A file that an
 * argument of vitest names is never skipped.
 */
export function findSkippedFiles(seed: string, args: readonly string[]): Record<string, string> {
  const isNamed = (file: string): boolean => args.some((arg) => file.includes(arg.replace(/^\.\//, '')));
  return Object.fromEntries(
    GROUPS.flatMap(({ description, share, files }) => {
      const offset = createSeededRandomFor(Number(seed), Buffer.from(description))();
      const skippedFiles = files.filter((_, index) => !isSampled(index, share, offset));
      const reason = `of ${description}, ${files.length - skippedFiles.length} of ${files.length} files run`;
      return skippedFiles.filter((file) => !isNamed(file)).map((file) => [file, reason]);
    }),
  );
}
