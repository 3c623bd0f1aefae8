import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { bodyHmacScheme, SCHEMES, signatureProblem, tokenScheme } from './signatures.ts';
import type { SignatureScheme } from './signatures.ts';

interface Vector {
  scheme: SignatureScheme;
  secret: string;
  headers: { [name: string]: string };
  body: string;
  /** The time of the request, in milliseconds. */
  atMs: number;
  /** The tolerance, in milliseconds. */
  windowMs?: number;
}

const hmacHex = (key: string, text: string): string => createHmac('sha256', key).update(text).digest('hex');

const SLACK_BODY =
  'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar' +
  '&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com' +
  '%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d' +
  '10d2c447fce8b6703c';
const STRIPE_BODY = '{"id":"evt_1","type":"charge.succeeded"}';
const LINEAR_AT_MS = 1_700_000_000_000;
const LINEAR_BODY = `{"action":"create","type":"Issue","webhookTimestamp":${LINEAR_AT_MS}}`;

const CIRCLEBACK_BODY = '{"id":4711,"name":"Weekly","notes":"## Looms"}';

// GitHub, Slack and Standard Webhooks: the examples of their documentation. The other providers publish none.
const VECTORS: { [name: string]: Vector } = {
  github: {
    scheme: SCHEMES.github,
    secret: "It's a Secret to Everybody",
    headers: {
      'X-Hub-Signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    },
    body: 'Hello, World!',
    atMs: 0,
  },
  slack: {
    scheme: SCHEMES.slack,
    secret: '8f742231b10e8888abcd99yyyzzz85a5',
    headers: {
      'X-Slack-Signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
      'X-Slack-Request-Timestamp': '1531420618',
    },
    body: SLACK_BODY,
    atMs: 1_531_420_618_000,
    windowMs: 300_000,
  },
  standard: {
    scheme: SCHEMES.standard,
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    headers: {
      'Webhook-Id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'Webhook-Timestamp': '1614265330',
      'Webhook-Signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
    body: '{"test": 2432232314}',
    atMs: 1_614_265_330_000,
    windowMs: 300_000,
  },
  stripe: {
    scheme: SCHEMES.stripe,
    secret: 'whsec_test',
    headers: {
      'Stripe-Signature': `t=1492774577,v1=${hmacHex('whsec_test', `1492774577.${STRIPE_BODY}`)},v0=6ffbb59b2300aae63f272406069a9788`,
    },
    body: STRIPE_BODY,
    atMs: 1_492_774_577_000,
    windowMs: 300_000,
  },
  linear: {
    scheme: SCHEMES.linear,
    secret: 'lin_wh_test',
    headers: { 'Linear-Signature': hmacHex('lin_wh_test', LINEAR_BODY) },
    body: LINEAR_BODY,
    atMs: LINEAR_AT_MS,
    windowMs: 60_000,
  },
  circleback: {
    scheme: SCHEMES.circleback,
    secret: 'whsec_test',
    headers: { 'X-Signature': hmacHex('whsec_test', CIRCLEBACK_BODY) },
    body: CIRCLEBACK_BODY,
    atMs: 0,
  },
  telegram: {
    scheme: SCHEMES.telegram,
    secret: 'a-Secret_Token',
    headers: { 'X-Telegram-Bot-Api-Secret-Token': 'a-Secret_Token' },
    body: '{"update_id":1}',
    atMs: 0,
  },
  token: {
    scheme: tokenScheme(),
    secret: 'open sesame',
    headers: { Authorization: 'Bearer open sesame' },
    body: '{}',
    atMs: 0,
  },
  'token in a header': {
    scheme: tokenScheme('X-Secret-Key'),
    secret: 'open sesame',
    headers: { 'X-Secret-Key': 'open sesame' },
    body: '{}',
    atMs: 0,
  },
  'HMAC in a header': {
    scheme: bodyHmacScheme('X-Signature'),
    secret: 'key',
    headers: { 'X-Signature': hmacHex('key', 'The quick brown fox jumps over the lazy dog') },
    body: 'The quick brown fox jumps over the lazy dog',
    atMs: 0,
  },
};

function problemOf(vector: Vector, secrets: readonly string[] = [vector.secret]): string | undefined {
  const { scheme, headers, body, atMs } = vector;
  return signatureProblem(scheme, secrets, {
    headers: new Headers(headers),
    body: Buffer.from(body),
    nowMs: atMs,
  });
}

describe.each(Object.entries(VECTORS))('a request with the signature scheme "%s"', (_name, vector) => {
  it('is authentic with its secret, even while another secret is valid', () => {
    expect(problemOf(vector)).toBeUndefined();
    expect(problemOf(vector, ['another', vector.secret])).toBeUndefined();
  });

  it('is not authentic with another secret, or with none', () => {
    expect(problemOf(vector, ['whsec_b3RoZXI='])).toBe('SIGNATURE_INVALID');
    expect(problemOf(vector, [])).toBe('SECRET_MISSING');
    expect(problemOf(vector, ['', '  '])).toBe('SECRET_MISSING');
  });

  it('is not authentic without its header', () => {
    expect(problemOf({ ...vector, headers: {} })).toBe('SIGNATURE_MISSING');
  });

  it('is not authentic with another, empty or shortened header', () => {
    const { header } = vector.scheme;
    const [name = '', value = ''] =
      Object.entries(vector.headers).find(([headerName]) => headerName.toLowerCase() === header) ?? [];
    // Only the part before the first comma: a signature of another kind can follow it.
    const shortenedValue = value.replace(/..(?=,v0|$)/, '');
    const otherDigits = value.replaceAll(/[0-9]/g, (digit) => String(9 - Number(digit)));
    const otherValues = ['', 'x', shortenedValue, otherDigits];
    for (const other of otherValues.filter((otherValue) => otherValue !== value))
      expect(problemOf({ ...vector, headers: { ...vector.headers, [name]: other } }), other).toMatch(
        /^SIGNATURE_/,
      );
  });

  it('is authentic only within its time window', () => {
    const { windowMs, atMs } = vector;
    for (const sign of [1, -1]) {
      const problemAt = (ms: number): string | undefined => problemOf({ ...vector, atMs: atMs + sign * ms });
      expect(problemAt(windowMs ?? 1e9)).toBeUndefined();
      expect(problemAt((windowMs ?? 0) + 1)).toBe(
        windowMs === undefined ? undefined : 'TIMESTAMP_OUT_OF_WINDOW',
      );
    }
  });
});

describe('a signature over the body', () => {
  const hmacVectors = Object.entries(VECTORS).filter(([, { scheme }]) => scheme.kind === 'hmac');

  it.each(hmacVectors)('of %s does not match a body with one changed byte', (_name, vector) => {
    const body = `${vector.body.slice(0, -1)}~`;
    expect(problemOf({ ...vector, body })).toBe('SIGNATURE_INVALID');
  });

  it('covers the time and the id if its scheme has them', () => {
    const laterVector = { ...VECTORS['slack']!, atMs: 1_531_420_619_000 };
    laterVector.headers = { ...laterVector.headers, 'X-Slack-Request-Timestamp': '1531420619' };
    expect(problemOf(laterVector)).toBe('SIGNATURE_INVALID');
    const otherVector = { ...VECTORS['standard']! };
    otherVector.headers = { ...otherVector.headers, 'Webhook-Id': 'msg_other' };
    expect(problemOf(otherVector)).toBe('SIGNATURE_INVALID');
    const { 'Webhook-Id': _id, ...headersWithoutId } = VECTORS['standard']!.headers;
    expect(problemOf({ ...otherVector, headers: headersWithoutId })).toBe('TIMESTAMP_INVALID');
  });

  it('may be one of several in the header', () => {
    const vector = VECTORS['standard']!;
    const header = `v1a,abc v1,b3RoZXI= ${vector.headers['Webhook-Signature']}`;
    expect(
      problemOf({ ...vector, headers: { ...vector.headers, 'Webhook-Signature': header } }),
    ).toBeUndefined();
  });

  it.each(['whsec_', '{', '!'])('is refused if the secret %j has an empty key', (secret) => {
    const vector = VECTORS['standard']!;
    const { 'Webhook-Id': id, 'Webhook-Timestamp': timestamp } = vector.headers;
    const signature = createHmac('sha256', '').update(`${id}.${timestamp}.${vector.body}`).digest('base64');
    const headers = { ...vector.headers, 'Webhook-Signature': `v1,${signature}` };
    expect(problemOf({ ...vector, secret, headers })).toBe('SECRET_MISSING');
  });

  it('with an invalid time is not authentic', () => {
    const body = '{"webhookTimestamp":"now"}';
    const headers = { 'Linear-Signature': hmacHex('lin_wh_test', body) };
    expect(problemOf({ ...VECTORS['linear']!, headers, body })).toBe('TIMESTAMP_INVALID');
    const textVector = {
      ...VECTORS['linear']!,
      body: 'text',
      headers: { 'Linear-Signature': hmacHex('lin_wh_test', 'text') },
    };
    expect(problemOf(textVector)).toBe('TIMESTAMP_INVALID');
  });
});
