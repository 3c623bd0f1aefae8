import { fetchTool, type Found } from '../../tools/fetch.ts';
import { TOOLS } from '../../tools/tools.ts';

/** What a production server is started with. */
export interface ProductionTools {
  readonly postgres: Found;
  readonly server: Found;
  readonly sql: Found;
}

/** The tools, or why they are not all there. The first time they are built and downloaded, which takes minutes. */
export function productionTools():
  | { readonly tools: ProductionTools }
  | { readonly tools?: undefined; readonly reason: string } {
  const reasons: string[] = [];
  const get = (name: string): Found | undefined => {
    const tool = TOOLS[name];
    if (!tool) throw new Error(`No tool "${name}" in test/tools/tools.ts.`);
    const search = fetchTool(name, tool);
    if (!search.found) reasons.push(search.reason);
    return search.found;
  };
  const [postgres, server, sql] = [get('postgres'), get('temporal-server'), get('temporal-sql')];
  return postgres && server && sql ? { tools: { postgres, server, sql } } : { reason: reasons.join(' ') };
}
