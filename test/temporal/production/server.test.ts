import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { runCommand } from '../../../packages/temporal/src/server/command.ts';
import { findReadinessProblem } from '../../../packages/temporal/src/server/readiness.ts';
import { createDataFolder } from '../../support/data-folder.ts';
import { type ProductionServer, startProductionServer } from './server.ts';
import { dynamicConfig } from './config.ts';
import { type ProductionTools, findProductionTools } from './tools.ts';
import { getOrStartServer } from '../../support/postgres-server.ts';
import { describeTemporal } from '../../support/temporal.ts';

function requireTools(): ProductionTools {
  const result = findProductionTools();
  if (!result.tools) throw new Error(result.reason);
  return result.tools;
}

/** Starts a production server, which is stopped after the test. */
async function start(name: string, namespace: string): Promise<ProductionServer> {
  const tools = requireTools();
  const postgres = await getOrStartServer(tools.postgres);
  const server = await startProductionServer({ tools, postgres, name, namespace });
  onTestFinished(async () => server.stop());
  return server;
}

const findProblem = async (address: string, namespace: string): Promise<string | undefined> =>
  findReadinessProblem({ address, namespace, searchAttributes: [] });

describeTemporal('the production server', ({ address, namespace }) => {
  it('responds and has the namespace', async () => {
    expect(await findProblem(address, namespace)).toBeUndefined();
  });

  it('accepts the poll limits by their names and types', async () => {
    const file = join(createDataFolder(), 'dynamic.yaml');
    const { server } = requireTools();
    const validate = async (config: object): Promise<unknown> => {
      writeFileSync(file, JSON.stringify(config));
      return runCommand(server.path, ['validate-dynamic-config', file], {
        env: server.env,
        timeoutMs: 30_000,
      });
    };
    // The server prints the name of a file only if the file has problems.
    expect(await validate({ 'history.heddle': [{ value: 1 }] })).toEqual({
      output: `${file}\n  warning: unregistered key "history.heddle"\n`,
    });
    expect(await validate(dynamicConfig())).toEqual({ output: `${file}\n` });
  });

  it('keeps its data when it is restarted', async () => {
    const name = `again_${process.pid}`;
    const firstServer = await start(name, 'kept');
    await firstServer.stop();
    expect(await findProblem(firstServer.address, 'kept')).toBe('nothing listens there');
    const restartedServer = await start(name, 'other');
    expect(await findProblem(restartedServer.address, 'kept')).toBeUndefined();
  });

  it('reports why it cannot create its databases', async () => {
    const tools = requireTools();
    const postgres = { ...(await getOrStartServer(tools.postgres)), password: 'wrong' };
    const startPromise = startProductionServer({ tools, postgres, name: 'never', namespace: 'never' });
    await expect(startPromise).rejects.toThrow(
      /^The database never cannot be created: .*create-database failed with 1: .*no usable database/,
    );
  });
});
