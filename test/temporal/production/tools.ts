import { fetchTool, type FoundTool } from '../../tools/fetch.ts';
import { TOOLS } from '../../tools/tools.ts';

/** The programs and the database of a production server. */
export interface ProductionTools {
  readonly postgres: FoundTool;
  readonly server: FoundTool;
  readonly sql: FoundTool;
}

/** Returns the tools, or the reasons why some are missing. The first call builds or downloads the tools. */
export function findProductionTools():
  | { readonly tools: ProductionTools }
  | { readonly tools?: undefined; readonly reason: string } {
  const reasons: string[] = [];
  const findTool = (name: string): FoundTool | undefined => {
    const tool = TOOLS[name];
    if (!tool) throw new Error(`No tool "${name}" in test/tools/tools.ts.`);
    const searchResult = fetchTool(name, tool);
    if (!searchResult.tool) reasons.push(searchResult.reason);
    return searchResult.tool;
  };
  const [postgres, server, sql] = [
    findTool('postgres'),
    findTool('temporal-server'),
    findTool('temporal-sql'),
  ];
  return postgres && server && sql ? { tools: { postgres, server, sql } } : { reason: reasons.join(' ') };
}
