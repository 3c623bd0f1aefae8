import { fetchTool, type FoundTool } from '../../tools/fetch.ts';
import { TOOLS } from '../../tools/tools.ts';

/** The programs and the database of a production server. */
export interface ProductionTools {
  readonly postgres: FoundTool;
  readonly server: FoundTool;
  readonly sql: FoundTool;
}

/** Returns the tools, or the reasons why some are missing. The first call builds or downloads the tools. */
export function productionTools():
  | { readonly tools: ProductionTools }
  | { readonly tools?: undefined; readonly reason: string } {
  const reasons: string[] = [];
  const find = (name: string): FoundTool | undefined => {
    const tool = TOOLS[name];
    if (!tool) throw new Error(`No tool "${name}" in test/tools/tools.ts.`);
    const search = fetchTool(name, tool);
    if (!search.tool) reasons.push(search.reason);
    return search.tool;
  };
  const [postgres, server, sql] = [find('postgres'), find('temporal-server'), find('temporal-sql')];
  return postgres && server && sql ? { tools: { postgres, server, sql } } : { reason: reasons.join(' ') };
}
