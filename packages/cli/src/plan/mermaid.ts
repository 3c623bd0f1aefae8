import type { BlockConfig, Plan } from '@heddle/core';
import type { Region } from '@heddle/core/blocks';
import { describeContainer, portTitle } from './describe.ts';

type Node = Region['nodes'][number];

/** Returns a Mermaid flowchart of a plan. Containers are subgraphs; ports other than the default are edge labels. */
export function mermaidFlowchart(plan: Plan): string {
  return [`flowchart TD`, ...regionLines(plan, plan.skeleton, { prefix: 'n', indent: '  ' }), ''].join('\n');
}

interface Level {
  /** Prefix of the ids of this level's nodes. */
  prefix: string;
  indent: string;
}

function regionLines(plan: Plan, region: Region, level: Level): string[] {
  return [
    ...region.nodes.flatMap((node, index) =>
      nodeLines(plan, node, { ...level, prefix: `${level.prefix}${index}` }),
    ),
    ...region.nodes.flatMap((node, index) =>
      node.ins.map(({ from, port }) => {
        const label = port === 'source' ? '' : `|${quote(portTitle(plan, region.nodes[from], port))}|`;
        return `${level.indent}${level.prefix}${from} -->${label} ${level.prefix}${index}`;
      }),
    ),
  ];
}

function nodeLines(plan: Plan, node: Node, { prefix, indent }: Level): string[] {
  const block = plan.blocks[node.id] as BlockConfig;
  if (!node.subflow || !block.container) return [`${indent}${prefix}${nodeShape(node, block)}`];
  const title = `${block.name} (${block.type}): ${describeContainer(block.container, node)}`;
  return [
    `${indent}subgraph ${prefix}[${quote(title)}]`,
    ...regionLines(plan, node.subflow.body, { prefix: `${prefix}_`, indent: `${indent}  ` }),
    `${indent}end`,
  ];
}

function nodeShape(node: Node, block: BlockConfig): string {
  const label = quote(block.name);
  if (block.type === 'condition' || block.type.startsWith('router')) return `{${label}}`;
  if (block.trigger || node.answers) return `([${label}])`;
  // A pause with notification tools has the class `effect`.
  const isWaiting = node.class === 'pause' || node.class === 'wait' || block.type === 'human_in_the_loop';
  return isWaiting ? `[/${label}/]` : `[${label}]`;
}

/** Escapes a label: Mermaid reads `#…;` in quotes as a character code. */
function quote(text: string): string {
  const escapedText = text.replaceAll(/[#"<>&;\n\r`]/g, (character) => `#${character.codePointAt(0) ?? 32};`);
  return `"${escapedText}"`;
}
