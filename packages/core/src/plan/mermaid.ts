import type { Node, Region } from '../machine/skeleton.ts';
import type { BlockConfig, Plan } from './plan.ts';

interface Drawing {
  plan: Plan;
  lines: string[];
}

/** The plan as a Mermaid flowchart: containers as subgraphs, branches and error exits as labels. */
export function toMermaid(plan: Plan): string {
  const drawing: Drawing = { plan, lines: ['flowchart TD'] };
  drawRegion(drawing, plan.skeleton, 'n');
  return `${drawing.lines.join('\n')}\n`;
}

function drawRegion(drawing: Drawing, region: Region, prefix: string): void {
  const indent = '  '.repeat(prefix.split('_').length);
  region.nodes.forEach((node, index) => drawNode(drawing, node, { id: `${prefix}${index}`, indent }));
  region.nodes.forEach((node, to) => {
    for (const { from, port } of node.ins) {
      const source = region.nodes[from] as Node;
      const label = labelOf(drawing.plan.blocks[source.id], port);
      drawing.lines.push(
        `${indent}${prefix}${from} -->${label === '' ? '' : `|"${escape(label)}"|`} ${prefix}${to}`,
      );
    }
  });
}

function drawNode(drawing: Drawing, node: Node, { id, indent }: { id: string; indent: string }): void {
  const { blocks, start } = drawing.plan;
  const block = blocks[node.id];
  const name = escape(block?.name ?? node.id);
  if (node.subflow) {
    drawing.lines.push(`${indent}subgraph ${id} ["${name} (${escape(turnsOf(node))})"]`);
    drawRegion(drawing, node.subflow.body, `${id}_`);
    drawing.lines.push(`${indent}end`);
    return;
  }
  const [open, close] =
    node.id === start ? ['([', '])'] : block?.type === 'condition' ? ['{', '}'] : ['[', ']'];
  drawing.lines.push(`${indent}${id}${open}"${name}"${close}`);
}

function turnsOf({ kind, subflow }: Node): string {
  const count = subflow?.count;
  if (count !== undefined) return `${kind} × ${count}`;
  return subflow?.perTurn ? `${kind} while` : kind;
}

/** What stands on an edge: nothing on the normal exit, the title of a condition's row. */
function labelOf(source: BlockConfig | undefined, port: string): string {
  if (port === 'source') return '';
  return source?.conditions?.find(({ id }) => `condition-${id}` === port)?.title ?? port;
}

/** Mermaid reads `#code;` as a character, and would read markup and quotes otherwise. */
function escape(text: string): string {
  return text
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .replace(/[#"<>`\\|[\]{}()]/g, (character) => `#${character.codePointAt(0)};`);
}
