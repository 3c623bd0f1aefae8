/** Paths inside the sandbox. */
export const JAIL_PATHS = {
  boot: '/opt/heddle/boot',
  node: '/usr/local/bin/node',
  /** The job as JSON. */
  job: '/run/heddle/job.json',
  proxy: '/run/heddle/proxy.sock',
  script: '/run/heddle/block.sh',
  work: '/work',
} as const;

/** Port of the proxy on the sandbox's loopback interface. */
export const PROXY_PORT = 3128;

/** A line of a script's output with this prefix contains its result. */
export const RESULT_PREFIX = '__HEDDLE_RESULT__=';

/** Descriptor to which a program writes its result. */
export const RESULT_FD = 3;

const PATH = '/opt/heddle/bin:/opt/heddle/node_modules/.bin:/usr/local/bin:/usr/bin:/usr/sbin';

/** Returns the environment of programs inside the sandbox. `hasProxy` is true if requests are allowed. */
export function jailEnvironment(hasProxy: boolean): Record<string, string> {
  const proxy = `http://127.0.0.1:${PROXY_PORT}`;
  return {
    PATH,
    HOME: JAIL_PATHS.work,
    USER: 'user',
    LANG: 'C.UTF-8',
    TMPDIR: '/tmp',
    NODE_PATH: '/opt/heddle/node_modules',
    PYTHONPATH: '/opt/heddle/python',
    PYTHONDONTWRITEBYTECODE: '1',
    PYTHONPYCACHEPREFIX: '/opt/heddle/pycache',
    PYTHONNOUSERSITE: '1',
    SSL_CERT_FILE: '/etc/ssl/certs/ca-certificates.crt',
    REQUESTS_CA_BUNDLE: '/etc/ssl/certs/ca-certificates.crt',
    ...(hasProxy && {
      http_proxy: proxy,
      https_proxy: proxy,
      HTTP_PROXY: proxy,
      HTTPS_PROXY: proxy,
      NODE_USE_ENV_PROXY: '1',
    }),
  };
}
