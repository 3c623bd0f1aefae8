import type { BlockConfig, Plan } from '@heddle/core';
import type { Region } from '@heddle/core/blocks';
import { formatCount } from '../render/format.ts';
import { sanitizeLine } from '../render/style.ts';
import type { Style } from '../render/style.ts';
import { tableLines } from '../render/table.ts';
import { describeContainer, describePorts, describeInputs, referencedNamesOf } from './describe.ts';
import { blocksByEnvName } from './references.ts';

/** Returns a plan as text: its start, its environment values, and its blocks in order, with containers as a tree. */
export function planLines(plan: Plan, style: Style): string[] {
  const start = plan.blocks[plan.start];
  const inputs = describeInputs(plan);
  const headRows = [
    [
      style.dim('start'),
      `${sanitizeLine(start?.name ?? plan.start)}${inputs === '' ? '' : style.dim(`  takes ${sanitizeLine(inputs)}`)}`,
    ],
    [style.dim('needs'), requirementsText(plan, style)],
    [style.dim('hash'), plan.hash],
  ].filter(([, value]) => value !== '') as string[][];
  return [
    `${style.bold(sanitizeLine(plan.workflow.name))}${style.dim(`  ${sanitizeLine(plan.workflow.id)}`)}`,
    ...(plan.workflow.description ? [sanitizeLine(plan.workflow.description)] : []),
    '',
    ...tableLines(headRows),
    '',
    ...tableLines([
      ['', 'block', 'type', 'class', ''].map((title) => style.dim(title)),
      ...nodeRows(plan, plan.skeleton, { style, depth: 0, numberPrefix: '' }),
    ]),
  ];
}

function requirementsText(plan: Plan, style: Style): string {
  return [...blocksByEnvName(plan)]
    .map(([name, blocks]) => {
      const names = blocks.map((block) => sanitizeLine(block.name)).join(', ');
      return `{{${sanitizeLine(name)}}}${style.dim(` in ${names}`)}`;
    })
    .join(', ');
}

interface Level {
  style: Style;
  depth: number;
  /** Number of the enclosing container, followed by a dot; empty at the top level. */
  numberPrefix: string;
}

function nodeRows(plan: Plan, region: Region, level: Level): string[][] {
  const { style, depth, numberPrefix } = level;
  return region.nodes.flatMap((node, index) => {
    const block = plan.blocks[node.id] as BlockConfig;
    const number = `${numberPrefix}${index + 1}`;
    const row = [
      style.dim(number),
      `${'  '.repeat(depth)}${sanitizeLine(block.name)}`,
      block.type,
      style.dim(node.class),
      nodeNotes(plan, region, node, block)
        .map((note) => sanitizeLine(note))
        .join(style.dim(' · ')),
    ];
    const childRows = node.subflow
      ? nodeRows(plan, node.subflow.body, { style, depth: depth + 1, numberPrefix: `${number}.` })
      : [];
    return [row, ...childRows];
  });
}

function nodeNotes(plan: Plan, region: Region, node: Region['nodes'][number], block: BlockConfig): string[] {
  const referencedNames = referencedNamesOf(plan, block);
  return [
    block.container ? describeContainer(block.container, node) : '',
    describePorts(plan, region, node),
    node.retry ? `${formatCount(node.retry.maxTries, 'attempt')}, ${node.retry.waitMs} ms apart` : '',
    node.timeoutMs === undefined ? '' : `at most ${node.timeoutMs} ms`,
    node.subflow?.collectErrors ? 'collects failures' : '',
    referencedNames.length === 0 || block.container ? '' : `reads ${referencedNames.join(', ')}`,
  ].filter((note) => note !== '');
}
