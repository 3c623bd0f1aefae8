import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { echoServer } from '../support/echo-server.ts';
import type { EchoServer } from '../support/echo-server.ts';
import { describeAbuse } from './abuse.ts';
import { describeAuthorization } from './authorization.ts';
import { serve, TOKEN } from './service.ts';
import type { Records, Service } from './service.ts';

/** Where a service of this suite keeps what it records. */
export interface Place {
  /** Its records and what else `heddle serve` is started with; called once. */
  open(): Promise<Records>;
  /** Everything that is stored, as one text: no secret may be in it. */
  dump(): Promise<string>;
}

/** The authorization and abuse cases against a real `heddle serve`, wherever its records and runs are. */
export function describeService(name: string, { open, dump }: Place): void {
  describe(`heddle serve, ${name}`, { timeout: 180_000 }, () => {
    let service: Service;
    let echo: EchoServer;
    beforeAll(async () => {
      echo = await echoServer();
      service = await serve(await open(), ['--allow-host', `127.0.0.1:${echo.port}`]);
    }, 120_000);
    afterAll(async () => {
      echo.close();
      service.process.child.kill('SIGKILL');
      await service.process.ended;
    });

    describe('authorization', () => {
      describeAuthorization(() => service);
    });
    describeAbuse(() => ({ service, echo }));

    // Last: all of the runs above have been recorded by then.
    it('keeps no value of the environment in what it stores', async () => {
      expect(await dump()).not.toContain(TOKEN);
    });
  });
}
