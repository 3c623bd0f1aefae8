import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEchoServer } from '../support/echo-server.ts';
import type { EchoServer } from '../support/echo-server.ts';
import { describeAttacks } from './attacks.ts';
import { describeAuthorization } from './authorization.ts';
import { startService, TOKEN } from './service.ts';
import type { StoreOptions, Service } from './service.ts';

/** The store of a service of this suite. */
export interface StoreSetup {
  /** Returns the store and the options of `heddle serve`; called once. */
  open(): Promise<StoreOptions>;
  /** Returns all stored data as one string, which must not contain a secret. */
  dump(): Promise<string>;
}

/** Runs the tests of authorization and of attacks against a real `heddle serve` with this store. */
export function describeService(name: string, { open, dump }: StoreSetup): void {
  describe(`heddle serve, ${name}`, { timeout: 180_000 }, () => {
    let service: Service;
    let echo: EchoServer;
    beforeAll(async () => {
      echo = await startEchoServer();
      service = await startService(await open(), ['--allow-host', `127.0.0.1:${echo.port}`]);
    }, 120_000);
    afterAll(async () => {
      echo.close();
      service.process.child.kill('SIGKILL');
      await service.process.result;
    });

    describe('authorization', () => {
      describeAuthorization(() => service);
    });
    describeAttacks(() => ({ service, echo }));

    // Last, so that all runs above are recorded.
    it('stores no value of an environment variable', async () => {
      expect(await dump()).not.toContain(TOKEN);
    });
  });
}
