import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { JsonObject } from '@heddle/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAuthority } from '../../support/certificate.ts';
import { IMAP_PASSWORD, IMAP_USER, startImapServer } from '../../support/imap-server.ts';
import type { ImapServer } from '../../support/imap-server.ts';
import { findFeedType, FeedSource, subjectsOf } from './source.ts';
import type { SourceOptions } from './source.ts';

function createImapSource(
  { port }: ImapServer,
  fields: JsonObject = {},
  options: SourceOptions = {},
): FeedSource {
  const defaults = { host: '127.0.0.1', port, secure: 'none', username: IMAP_USER, password: '{{PASSWORD}}' };
  return new FeedSource('imap', { ...defaults, ...fields }, { env: { PASSWORD: IMAP_PASSWORD }, ...options });
}

/** Trusts a certificate authority until the end of the test. */
function trustCertificateAuthority(ca: string): void {
  const defaultCas = getCACertificates('default');
  setDefaultCACertificates([...defaultCas, ca]);
  onTestFinished(() => setDefaultCACertificates(defaultCas));
}

const timeAt = (hour: number) => Date.UTC(2026, 0, 1, hour);

describe('a mail account', () => {
  it('starts runs for messages that arrive after the first poll, and opens a new session for each poll', async () => {
    const server = await startImapServer();
    server.deliver({ subject: 'old' });
    const source = createImapSource(server);
    expect(subjectsOf(await source.poll())).toEqual([]);
    server.deliver({ subject: 'one' });
    server.deliver({ subject: 'two' });
    expect(subjectsOf(await source.poll())).toEqual(['one', 'two']);
    expect(subjectsOf(await source.poll())).toEqual([]);
    expect(server.connectionCount).toBe(3);
    expect(server.commands.filter((command) => /STORE|SELECT/.test(command))).toEqual([]);
  });

  it('outputs the parts of a message', async () => {
    const server = await startImapServer();
    const source = createImapSource(server, { includeAttachments: true });
    await source.poll();
    const raw = [
      'From: =?utf-8?Q?Zo=C3=AB?= <zoe@example.com>',
      'To: a@example.com, B <b@example.com>',
      'Subject: =?utf-8?B?RsOkZGVu?=',
      'Message-ID: <m1@example.com>',
      'Content-Type: multipart/mixed; boundary="x"',
      ...['', '--x', 'Content-Type: multipart/alternative; boundary="y"', ''],
      ...[
        '--y',
        'Content-Type: text/plain',
        '',
        'Plain',
        '--y',
        'Content-Type: text/html',
        '',
        '<p>Rich</p>',
        '--y--',
      ],
      ...[
        '--x',
        'Content-Type: text/csv',
        'Content-Disposition: attachment; filename="../a.csv"',
        '',
        '1,2',
        '--x--',
        '',
      ],
    ].join('\r\n');
    server.deliver({ raw, receivedMs: timeAt(10) });
    const [item] = (await source.poll()).items;
    const email = item?.input['email'] as JsonObject;
    expect(email).toMatchObject({
      ...{ from: 'Zoë <zoe@example.com>', to: 'a@example.com, B <b@example.com>', subject: 'Fäden' },
      ...{ messageId: '<m1@example.com>', mailbox: 'INBOX', receivedAt: '2026-01-01T10:00:00.000Z' },
      ...{ truncated: false, hasAttachments: true },
      attachments: [{ name: '../a.csv', mime: 'text/csv', size: 4 }],
    });
    expect((email['bodyText'] as string).trim()).toBe('Plain');
    expect(email['bodyHtml']).toContain('<p>Rich</p>');
    expect(item?.files?.list).toEqual([
      { type: 'file', name: '../a.csv', data: 'data:text/csv;base64,MSwyCg==' },
    ]);
  });

  it('selects messages by search criteria, and begins with as many old messages as `backfill` sets', async () => {
    const server = await startImapServer();
    for (const name of ['Ada', 'Bob', 'Ada', 'Ada'])
      server.deliver({ subject: name, from: `${name} <x@example.com>` });
    const source = createImapSource(
      server,
      { searchCriteria: '{"from": "Ada", "unseen": true}', backfill: 2 },
      { limit: 1 },
    );
    const firstPoll = await source.poll();
    expect(firstPoll.items.map(({ id }) => id)).toEqual(['7:3:INBOX']);
    expect(firstPoll.hasMore).toBe(true);
    server.deliver({ subject: 'Bob', from: 'Bob <b@example.com>' });
    expect((await source.poll()).items.map(({ id }) => id)).toEqual(['7:4:INBOX']);
    expect(subjectsOf(await source.poll())).toEqual([]);
  });

  it('outputs each message once, even after the server renumbers its messages (UIDVALIDITY)', async () => {
    const server = await startImapServer();
    server.deliver({ subject: 'old', receivedMs: timeAt(1) });
    const source = createImapSource(server);
    await source.poll();
    server.deliver({ subject: 'known', receivedMs: timeAt(2) });
    expect(subjectsOf(await source.poll())).toEqual(['known']);
    server.deliver({ subject: 'new', receivedMs: timeAt(3) });
    server.renumber(8);
    expect(subjectsOf(await source.poll())).toEqual(['new']);
    server.deliver({ subject: 'next', receivedMs: timeAt(4) });
    expect(subjectsOf(await source.poll())).toEqual(['next']);
  });

  it('reads several mailboxes, each from its own position', async () => {
    const server = await startImapServer();
    server.deliver({ subject: 'old' }, 'Archive');
    const source = createImapSource(server, { mailbox: 'INBOX, Archive' }, { limit: 2 });
    await source.poll();
    for (const name of ['INBOX', 'Archive', 'INBOX', 'Archive']) server.deliver({ subject: name }, name);
    expect(subjectsOf(await source.poll())).toEqual(['INBOX', 'INBOX']);
    expect(subjectsOf(await source.poll())).toEqual(['Archive', 'Archive']);
    expect(subjectsOf(await source.poll())).toEqual([]);
  });

  it('marks messages as read only when their runs have been accepted', async () => {
    const server = await startImapServer();
    const source = createImapSource(server, { markAsRead: 'true' });
    await source.poll();
    const uid = server.deliver({ subject: 'one' });
    const { items } = await source.poll();
    const isSeen = () => server.messages()[0]?.flags.has('\\Seen');
    expect(isSeen()).toBe(false);
    await source.acknowledge(items.map(({ id }) => id));
    expect(isSeen()).toBe(true);
    // After the server has assigned new numbers, this is another message.
    server.messages()[0]?.flags.clear();
    server.renumber(9);
    await source.acknowledge([`7:${uid}:INBOX`]);
    expect(isSeen()).toBe(false);
  });

  it('outputs the beginning of a message that is too large or cannot be parsed', async () => {
    const server = await startImapServer();
    const source = createImapSource(server, { includeAttachments: true });
    await source.poll();
    server.deliver({ raw: `Subject: large\r\n\r\n${'x'.repeat(11 * 2 ** 20)}` });
    server.deliver({ raw: `Subject: hostile\r\n${'X-Header: y\r\n'.repeat(100_000)}\r\nbody` });
    server.deliver({ subject: 'after' });
    const { items } = await source.poll();
    const emails = items.map(({ input }) => input['email'] as JsonObject);
    expect(emails.map(({ subject, truncated }) => [subject, truncated])).toEqual([
      ['large', true],
      ['', true],
      ['after', false],
    ]);
    expect(JSON.stringify(emails[0]?.['bodyText']).length).toBeLessThan(300_000);
  });

  it.each([
    ['hang', 'UID SEARCH', /did not answer in time/],
    ['close', 'EXAMINE', /has failed|cannot be reached/],
    ['huge', 'UID FETCH', /has failed/],
    ['no', 'EXAMINE', /has failed|does not have the mailbox/],
  ] as const)(
    'recovers from a failure of its server ("%s" at %s), and the error does not contain the password',
    async (behaviour, command, message) => {
      const server = await startImapServer();
      const source = createImapSource(server);
      await source.poll();
      server.deliver({ subject: 'one' });
      server.setBehaviour(command, behaviour);
      const failure = await source.poll(AbortSignal.timeout(300)).catch((error: Error) => error);
      expect(failure).toMatchObject({
        code: 'FEED_FAILED',
        message: expect.stringMatching(message) as string,
      });
      expect((failure as Error).message).not.toContain(IMAP_PASSWORD);
      server.setBehaviour(command, undefined);
      expect(subjectsOf(await source.poll())).toEqual(['one']);
    },
  );

  it('sends the password without TLS only if the fields allow it', async () => {
    const server = await startImapServer();
    for (const secure of [false, true]) {
      const failure = await createImapSource(server, { secure })
        .poll(AbortSignal.timeout(2000))
        .catch((error: Error) => error);
      expect(failure).toMatchObject({ code: 'FEED_FAILED' });
    }
    expect(server.commands).not.toContain('LOGIN');
  });

  it.each([
    ['from the first byte', true, 'implicit'],
    ['after STARTTLS', false, 'starttls'],
  ] as const)(
    'reads messages over TLS %s, once the CA of the server is trusted',
    async (_, secure, tlsMode) => {
      const { ca, certificate } = createAuthority();
      const server = await startImapServer({ tls: { ...certificate, mode: tlsMode } });
      server.deliver({ subject: 'one' });
      const source = createImapSource(server, { secure, backfill: 1 });
      const failure = await source.poll().catch((error: Error) => error);
      expect(failure).toMatchObject({
        code: 'FEED_FAILED',
        message: expect.stringContaining('no acceptable TLS connection') as string,
      });
      expect(server.commands).not.toContain('LOGIN');
      trustCertificateAuthority(ca);
      expect(subjectsOf(await source.poll())).toEqual(['one']);
      expect(server.commands.filter((command) => /^(STARTTLS|LOGIN)$/.test(command))).toEqual(
        secure ? ['LOGIN'] : ['STARTTLS', 'STARTTLS', 'LOGIN'],
      );
      const otherSource = createImapSource(server, { secure, host: 'localhost' });
      // The certificate is for 127.0.0.1.
      await expect(otherSource.poll()).rejects.toThrow('no acceptable TLS connection');
      expect(server.commands.filter((command) => command === 'LOGIN')).toHaveLength(1);
    },
  );

  it('does not show the response of the server in the error if the server refuses the password', async () => {
    const server = await startImapServer();
    const failure = await createImapSource(server, {}, { env: { PASSWORD: 'wrong-thread' } })
      .poll()
      .catch((error: Error) => error);
    expect((failure as Error).message).toBe(
      `The mail server 127.0.0.1:${server.port} refuses the name or the password.`,
    );
  });

  it.each<[JsonObject, string]>([
    [{ host: 'a b' }, 'host'],
    [{ port: 0 }, 'port'],
    [{ secure: 'maybe' }, 'secure'],
    [{ password: '' }, 'password'],
    [{ searchCriteria: '{"older": 1}' }, 'searchCriteria'],
    [{ searchCriteria: 'UNSEEN' }, 'searchCriteria'],
    [{ mailbox: Array.from({ length: 11 }, (_, index) => `m${index}`).join(',') }, 'mailbox'],
  ])('refuses the fields %o', (fields, field) => {
    const validFields = { host: 'imap.example.com', username: 'ada', password: '{{PASSWORD}}' };
    expect(findFeedType('imap').parseConfig({ ...validFields, ...fields })).toMatchObject({
      problems: [{ field }],
    });
  });
});
