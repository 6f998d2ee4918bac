// SPDX-License-Identifier: Apache-2.0
// What `npm test` runs a second time: a few failed scenarios and test files, each suite alone, after all others. One that passes then failed for
// the load of the machine and not for the change. It does not fail the run, and the summary names it.

/** More failures are the change's, and are not run again. */
const mostFailures = 3;

/** The names of failed scenarios or tests in a report, with the arguments that run them again; undefined if a failure has no name. */
function failedIn(report) {
  const scenarios = (report?.scenarios ?? []).filter(({ outcome }) => outcome === 'failed');
  const files = (report?.testResults ?? []).filter(({ status }) => status === 'failed');
  if (files.some(({ assertionResults }) => assertionResults.length === 0)) return undefined;
  const ids = scenarios.map(({ id }) => id.split(' ')[0]);
  return {
    names: [...scenarios.map(({ id }) => id), ...files.flatMap((file) => testsOf(file, 'failed'))],
    only: ids.length > 0 ? [`--only=${[...new Set(ids)].join(',')}`] : files.map(({ name }) => name),
  };
}

const testsOf = ({ assertionResults }, status) =>
  assertionResults.filter((test) => test.status === status).map(({ fullName }) => fullName);

/**
 * The suites that run again; none if the failures are too many, or if one of them cannot be run by itself. `failed` counts the failures of a run, and
 * `read` returns its report.
 */
export function secondRuns(suites, runs, read) {
  const failing = runs.filter(({ failed }) => failed > 0);
  if (failing.reduce((sum, { failed }) => sum + failed, 0) > mostFailures) return [];
  const again = failing.map((run) => {
    const suite = suites.find(({ name }) => name === run.name);
    const found = failedIn(run.report === undefined ? undefined : read(run.report));
    if (suite?.again === undefined || found?.names.length !== run.failed) return undefined;
    return {
      name: `${run.name}, again`,
      of: run,
      names: found.names,
      command: [suite.again(suite.report), ...found.only].join(' '),
      report: suite.report,
    };
  });
  return again.includes(undefined) ? [] : again;
}

/** Whether each of the names has passed in the report of the second run. */
export function allPassed(names, report) {
  const passed = new Set([
    ...(report?.scenarios ?? []).filter(({ outcome }) => outcome === 'passed').map(({ id }) => id),
    ...(report?.testResults ?? []).flatMap((file) => testsOf(file, 'passed')),
  ]);
  return names.every((name) => passed.has(name));
}
