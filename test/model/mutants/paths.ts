import { mutantsOf } from './mutant.ts';
import type { Mutant } from './mutant.ts';

/** Mutants of the code that starts blocks: edges, joins, skips, the start of the run. */
export const pathMutants: readonly Mutant[] = [
  ...mutantsOf('join.ts', [
    {
      from: "(port === 'source' && nodeState !== 'error')",
      to: "port === 'source'",
      effect: 'the run leaves a failed block by `source`',
    },
    {
      from: "port === 'source' && nodeState !== 'error'",
      to: "port === 'source' && nodeState === 'source'",
      effect: '`source` is not taken in addition to a chosen port',
    },
    {
      from: '(nodeState === port || (port',
      to: "((nodeState === port && port !== 'error') || (port",
      effect: 'error ports lead nowhere',
    },
    {
      from: "typeof nodeState === 'string' && (nodeState === port",
      to: '(nodeState === port',
      effect: 'the run leaves a skipped node by `source`',
    },
    {
      from: '| (live ? 1 : 0)',
      to: '+ (live ? 1 : 0)',
      effect: 'a second live edge counts as another source',
    },
    {
      from: 'if (nodeState === 1) context',
      to: 'if (nodeState % 2 === 1) context',
      effect: 'a join runs at its first live edge',
    },
    {
      from: 'else if (nodeState === 0) context',
      to: 'else if (nodeState === 0 && live) context',
      effect: 'a node without a live edge is never skipped',
    },
    {
      from: 'index: to, nodeState: SKIPPED }',
      to: "index: to, nodeState: 'skipped' }",
      effect: 'the edges of a skipped node are live',
    },
    { from: '  frame.left--;\n', to: '', effect: 'a frame never closes' },
    {
      from: 'if (frame.left === 0)',
      to: 'if (frame.left <= 1)',
      effect: 'a frame closes with one node left',
    },
    { from: 'ports.some(', to: 'ports.every(', effect: 'all edges from one source have to be live' },
    {
      from: 'framePath.parent === null && context.state.until',
      to: 'context.state.until',
      effect: 'run-until stops at a block in a container',
    },
    {
      from: ".answers && nodeState === 'source'",
      to: '.answers',
      effect: 'a skipped or failed Response ends the run',
    },
    {
      from: 'const dueMs = context.atMs + timeoutMs',
      to: 'const dueMs = timeoutMs',
      effect: 'a timeout is due at the epoch',
    },
    {
      from: "timer: 'timeout', dueMs, try: attempt",
      to: "timer: 'timeout', dueMs, try: 1",
      effect: 'timeouts of later attempts name the first',
    },
    { from: '  context.state.busy++;\n', to: '', effect: 'a running block is not counted' },
  ]),
  ...mutantsOf('prepare.ts', [
    {
      from: 'new Set(node.ins.map((edge) => edge.from)).size * 2',
      to: 'node.ins.length * 2',
      effect: 'a join counts edges instead of sources',
    },
    {
      from: 'if (list) list.push(edge.port);',
      to: 'if (list) continue;',
      effect: 'of two edges from one source the second is lost',
    },
    {
      from: 'node.outs.map((to)',
      to: '[...node.outs].reverse().map((to)',
      effect: 'blocks start in reverse order of the edges',
    },
    {
      from: 'left: reachedNodes.size',
      to: 'left: outgoingEdges.length',
      effect: 'the run waits for nodes that its start does not reach',
    },
    {
      from: 'for (const from of reachedNodes)\n    for (const { to } of outgoingEdges[from] ?? []) cells',
      to: 'for (const from of outgoingEdges.keys())\n    for (const { to } of outgoingEdges[from] ?? []) cells',
      effect: 'a join waits for sources that cannot run',
    },
  ]),
  ...mutantsOf('step.ts', [
    {
      from: 'for (let head = 0; head < tasks.length; head++) runTask(context, tasks[head] as Task);',
      to: 'while (tasks.length > 0) runTask(context, tasks.pop() as Task);',
      effect: 'tasks run in reverse order',
    },
    {
      from: '  if (failed) delete framePath.frame.drain;\n',
      to: '',
      effect: 'a branch that collects its error stays open',
    },
    {
      from: 'if (!isDraining(context, framePath)) closeFrame',
      to: 'closeFrame',
      effect: 'a frame inside a drain closes, and the next opens',
    },
    {
      from: "phase !== 'running') return",
      to: "phase === 'ended') return",
      effect: 'the same event starts blocks of a draining run',
    },
    {
      from: '    if (ancestor.frame.drain) return true;\n',
      to: '',
      effect: 'the same event starts blocks of a draining branch',
    },
    {
      from: ' || container.drain) return true',
      to: ') return true',
      effect: 'the same event starts blocks of a draining container',
    },
    {
      from: 'startAttempt(context, framePath, index, 1)',
      to: 'startAttempt(context, framePath, index, 0)',
      effect: 'attempts are numbered from 0',
    },
  ]),
  ...mutantsOf('step.ts', [
    { from: 'state.frame.cells.length > 0 || ', to: '', effect: 'a run starts again' },
    {
      from: ' || root.region.nodes[event.start] === undefined',
      to: '',
      effect: 'a run starts at an unknown block',
    },
    {
      from: 'result.changed ? nextState : state',
      to: 'nextState',
      effect: 'an ignored event creates a new state',
    },
    { from: "state.phase !== 'ended' && ", to: '', effect: 'an ended run accepts events' },
    { from: '    updateDeadline(context);\n', to: '', effect: 'the clock of active time never stops' },
    {
      from: '  if (event.until !== undefined) state.until = event.until;\n',
      to: '',
      effect: 'run-until is forgotten',
    },
    {
      from: '  if (location.enclosingDrain) return updateDrainingWork(context, location, index, event);\n',
      to: '',
      effect: 'a draining scope continues',
    },
    {
      from: 'const nextState = cloneState(state)',
      to: 'const nextState = { ...state }',
      effect: 'a step changes the state that it received',
    },
  ]),
  ...mutantsOf('locate.ts', [
    {
      from: "    if (nodeState.drain)\n      enclosingDrain ??= { scope: { kind: 'container', framePath, index: node }, drain: nodeState.drain };\n",
      to: '',
      effect: 'blocks in a draining container continue',
    },
    {
      from: "    if (frame.drain) enclosingDrain ??= { scope: { kind: 'branch', framePath }, drain: frame.drain };\n",
      to: '',
      effect: 'blocks in a draining branch continue',
    },
    {
      from: 'depth += 2',
      to: 'depth += 4',
      effect: 'deep addresses are resolved only up to the first frame',
    },
  ]),
];
