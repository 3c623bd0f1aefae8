import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { repositoryFolder } from './sources.ts';

const REPORT = 'node_modules/.cache/heddle-test/report.json';

const passedReport = {
  success: true,
  numPassedTests: 3,
  numFailedTests: 0,
  numPendingTests: 1,
  numTodoTests: 0,
  testResults: [{ status: 'passed', assertionResults: [{ status: 'passed' }] }],
};

describe('.ci/run', () => {
  let folder = '';

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'heddle-ci-'));
    mkdirSync(join(folder, '.ci'));
    cpSync(join(repositoryFolder, '.ci/run'), join(folder, '.ci/run'));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Runs .ci/run with an `npm test` that writes `report` and exits with `status`. Returns its code and last line. */
  function run(
    report: object | undefined,
    status: number,
  ): { code: number | null; lastLine: string | undefined } {
    const reportFile = join(folder, 'npm-report.json');
    if (report) writeFileSync(reportFile, JSON.stringify(report));
    const body = `[ "$1" = test ] || exit 0\nmkdir -p "${dirname(REPORT)}"\ncp "${reportFile}" ${REPORT}\nexit ${status}`;
    writeFileSync(join(folder, 'npm'), `#!/bin/sh\n${body}\n`);
    chmodSync(join(folder, 'npm'), 0o755);
    const env = { ...process.env, PATH: `${folder}:${dirname(process.execPath)}:${process.env['PATH']}` };
    const result = spawnSync(join(folder, '.ci/run'), { encoding: 'utf8', env });
    return { code: result.status, lastLine: result.stdout.trim().split('\n').at(-1) };
  }

  it.each([
    [{}, 'bubblewrap,chromium,nginx,schemathesis,openapi-documents,versitygw 1'],
    [{ HEDDLE_REQUIRE: '', HEDDLE_REQUIRE_TEMPORAL: '0' }, ' 0'],
  ])(
    'requires all tools and servers of the tests, unless the environment overrides this: %o',
    (variables, requirements) => {
      const recordFile = join(folder, 'requirements.txt');
      const { HEDDLE_REQUIRE: _tools, HEDDLE_REQUIRE_TEMPORAL: _server, ...otherVariables } = process.env;
      const body = `printf %s "$HEDDLE_REQUIRE $HEDDLE_REQUIRE_TEMPORAL" > ${recordFile}`;
      writeFileSync(join(folder, 'npm'), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
      const env = {
        ...otherVariables,
        ...variables,
        PATH: `${folder}:${dirname(process.execPath)}:${process.env['PATH']}`,
      };
      spawnSync(join(folder, '.ci/run'), { env });
      expect(readFileSync(recordFile, 'utf8')).toBe(requirements);
    },
  );

  it('prints the numbers of passed, failed and skipped tests last', () => {
    expect(run(passedReport, 0)).toEqual({ code: 0, lastLine: '3 passed, 0 failed, 1 skipped' });
  });

  it('keeps the exit code of the tests', () => {
    expect(run({ ...passedReport, success: false, numFailedTests: 2 }, 7)).toEqual({
      code: 7,
      lastLine: '3 passed, 2 failed, 1 skipped',
    });
  });

  it('counts a file that failed outside of its tests', () => {
    const testResults = [{ status: 'failed', assertionResults: [] }];
    const report = { ...passedReport, success: false, testResults };
    expect(run(report, 1).lastLine).toBe('3 passed, 1 failed, 1 skipped');
  });

  it('fails if there is no report, even if the tests succeeded', () => {
    expect(run(undefined, 0)).toEqual({ code: 1, lastLine: '0 passed, 1 failed, 0 skipped' });
  });

  it('does not read the report of an earlier run', () => {
    mkdirSync(join(folder, dirname(REPORT)), { recursive: true });
    writeFileSync(join(folder, REPORT), JSON.stringify(passedReport));
    expect(run(undefined, 0).code).toBe(1);
  });

  it('fails if no test ran', () => {
    expect(run({ ...passedReport, numPassedTests: 0 }, 0)).toEqual({
      code: 1,
      lastLine: '0 passed, 1 failed, 1 skipped',
    });
  });
});
