/** Ids of the supported command-line tools: name, version and revision of the installation recipe. */
export const CLI_TOOLS = [
  'age@1.3.1-r1',
  'argocd@3.4.6-r1',
  'aws-cli@2.36.15-r1',
  'azure-cli@2.89.0-r1',
  'doctl@1.166.0-r1',
  'duckdb@1.5.5-r1',
  'firebase-cli@15.25.1-r1',
  'flyctl@0.4.78-r1',
  'github-cli@2.97.0-r1',
  'gitlab-cli@1.111.0-r1',
  'google-cloud-cli@577.0.0-r1',
  'helm@4.2.3-r1',
  'kubectl@1.36.3-r1',
  'kustomize@5.8.1-r1',
  'minio-mc@RELEASE.2025-08-13T08-35-41Z-r1',
  'mongosh@2.9.2-r1',
  'pulumi@3.255.0-r1',
  'railway-cli@5.30.4-r1',
  'rclone@1.75.0-r1',
  'restic@0.19.1-r1',
  'sops@3.13.3-r1',
  'stripe-cli@1.45.0-r1',
  'supabase-cli@2.111.0-r1',
  'terraform@1.15.8-r1',
] as const;

/** A condition under which an entry is refused, and the reason. The first rule that applies is reported. */
type Rule = readonly [isRefused: (entry: string) => boolean, reason: string | ((entry: string) => string)];

const SHELL_CHARACTERS = /[;&|`$(){}"'\\]/;
const PYTHON_PATTERN =
  /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:\[[A-Za-z0-9._-]+(?:,[A-Za-z0-9._-]+)*\])?(?:(?:===|==|!=|<=|>=|~=|<|>)[A-Za-z0-9.*+!-]+(?:,(?:===|==|!=|<=|>=|~=|<|>)[A-Za-z0-9.*+!-]+)*)?$/;
const NPM_PATTERN =
  /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[A-Za-z0-9~-][A-Za-z0-9._~-]*(?:@[\^~<>=]{0,2}[A-Za-z0-9.*+-]+)?$/;
const DEBIAN_PATTERN = /^[a-z0-9][a-z0-9+.-]+(?::[a-z0-9-]+)?(?:=[A-Za-z0-9.+:~-]+)?$/;

const DASH_RULE: Rule = [(entry) => entry.startsWith('-'), 'it begins with a dash, like an installer flag'];
const SPACE_RULE: Rule = [(entry) => /\s/.test(entry), 'it contains white space'];

const DEPENDENCY_RULES: readonly Rule[] = [
  DASH_RULE,
  [(entry) => entry.startsWith('git+') || entry.includes('://'), 'it is a URL; name a registry package'],
  [
    (entry) => /^(?:file|link|workspace|npm|portal|patch):/.test(entry),
    'it is a file or an alias; name a registry package',
  ],
  SPACE_RULE,
  [(entry) => SHELL_CHARACTERS.test(entry), 'it contains a character that is not allowed in package names'],
  [(entry) => /^[./~]/.test(entry), 'it is a path; name a registry package'],
];

/** Returns the reason for an unknown tool, with the id of a tool with the same name if there is one. */
function unknownToolReason(entry: string): string {
  const [name = ''] = entry.toLowerCase().split('@');
  const similarId = CLI_TOOLS.find((id) => id.startsWith(`${name}@`));
  const reason = 'it is not in the catalogue of command-line tools';
  return similarId === undefined ? reason : `${reason}; the id is ${similarId}`;
}

const RULES = {
  javascript: [
    ...DEPENDENCY_RULES,
    [
      (entry: string) => !NPM_PATTERN.test(entry),
      'it is not an npm package with an optional range, such as zod or zod@^4',
    ] as const,
  ],
  python: [
    ...DEPENDENCY_RULES,
    [
      (entry: string) => !PYTHON_PATTERN.test(entry),
      'it is not a Python requirement, such as jinja2 or pydantic>=2,<3',
    ] as const,
  ],
  systemPackages: [
    DASH_RULE,
    SPACE_RULE,
    [
      (entry: string) => entry.includes('://') || /^(?:file|https?|ftp):/.test(entry),
      'it is a URL; name a Debian package',
    ] as const,
    [
      (entry: string) => /[/\\]/.test(entry) || /^[.~]/.test(entry),
      'it is a path; name a Debian package',
    ] as const,
    [
      (entry: string) => !DEBIAN_PATTERN.test(entry),
      'it is not a Debian package, such as jq, jq:amd64 or jq=1.6-2.1',
    ] as const,
    [
      (entry: string) => /(?:-|(?<!\+)\+)$/.test(entry.split(/[:=]/)[0] as string),
      'it ends with - or +, which apt treats as remove or install',
    ] as const,
  ],
  cliTools: [
    [(entry: string) => !(CLI_TOOLS as readonly string[]).includes(entry), unknownToolReason] as const,
  ],
} satisfies Record<string, readonly Rule[]>;

/** The kind of an entry, which selects its rules. */
export type EntryKind = keyof typeof RULES;

/** Returns why the entry is refused, or undefined. */
export function refusalOf(entry: string, kind: EntryKind): string | undefined {
  const rules: readonly Rule[] = RULES[kind];
  const reason = rules.find(([isRefused]) => isRefused(entry))?.[1];
  return typeof reason === 'function' ? reason(entry) : reason;
}

/** Returns the name in a dependency without range and extras; for npm including the scope. */
export function dependencyName(entry: string, language: 'javascript' | 'python'): string {
  if (language === 'python') return (/^[A-Za-z0-9._-]+/.exec(entry) as RegExpExecArray)[0];
  const atIndex = entry.indexOf('@', 1);
  return atIndex < 0 ? entry : entry.slice(0, atIndex);
}

/** Returns the range in an npm dependency; `latest` if there is none. */
export function npmRange(entry: string): string {
  const atIndex = entry.indexOf('@', 1);
  return atIndex < 0 ? 'latest' : entry.slice(atIndex + 1);
}

/** Returns the entry in stored form: Python names are normalized (PEP 503). */
export function toCanonicalEntry(entry: string, kind: EntryKind): string {
  if (kind !== 'python') return entry;
  const name = dependencyName(entry, 'python');
  return name.toLowerCase().replace(/[-_.]+/g, '-') + entry.slice(name.length);
}
