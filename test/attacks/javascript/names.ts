import type { Attack, AttackGroup } from '../attack.ts';
import { DENIED, requestCode } from './egress.ts';

/** URLs whose port is not allowed by default, or whose host DENY_POLICY refuses, in every notation. */
const URLS: Readonly<Record<string, string>> = {
  N25: 'http://ok.test:22/',
  N25b: 'http://ok.test:6379/',
  N25c: 'http://ok.test:0/',
  N25d: 'http://ok.test:00000025/',
  N25e: 'http://ok.test:65536/',
  N25f: 'https://ok.test:80080/',
  N60: 'http://no.test/',
  N60b: 'http://NO.Test/',
  N60c: 'http://no.test./',
  N60d: 'http://ｎｏ.test/',
  N60e: 'http://n%6F.test/',
  N60f: 'http://no\\u3002test/',
  N60g: 'http://n\\u00ado.test/',
  N60h: 'http://n\\to.test/',
  N61: 'http://x.öl.test/',
  N61b: 'http://x.xn--l-0ga.test/',
  N61c: 'http://X.O\\u0308L.test./',
  N61d: 'http://deep.x.ÖL.test/',
};

/**
 * A policy that refuses these names. The tests also allow the address to which the attack network resolves the names,
 * so that the name alone is the reason for a refusal.
 */
export const DENY_POLICY = { denyHosts: ['no.test', '*.öl.test'] } as const;

const urlAttack = ([id, url]: [string, string]): Attack => ({
  id,
  title: `a request to ${url}`,
  code: requestCode(url),
  expected: DENIED,
});

/** Names and ports that the operator's policy denies. */
export const nameAttacks: AttackGroup = {
  name: 'Denied names and ports',
  language: 'javascript',
  attacks: Object.entries(URLS).map(urlAttack),
};
