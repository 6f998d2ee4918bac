// SPDX-License-Identifier: Apache-2.0
/**
 * Tests that a run left out without a declaration. A test that may be left out names what it needs at the end of its title,
 * `(needs growing-ext4)`, and `CSI_SIDECARS_NOT_APPLICABLE=growing-ext4` declares that this machine lacks it.
 */
import type { SuiteRun } from './durations.ts';

/** What a suite leaves in its report: vitest's JSON, or our own counts. */
interface Report {
  readonly skipped?: number;
  readonly testResults?: readonly {
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** Abilities from the value of CSI_SIDECARS_NOT_APPLICABLE. */
export function declaredLacks(value = ''): ReadonlySet<string> {
  return new Set(value.split(',').filter((ability) => ability !== ''));
}

/** One line for each test, or for the sum of a suite that does not name its tests. `read` as for `durationsOf`. */
export function undeclaredSkips(
  suites: readonly SuiteRun[],
  read: (report: string) => unknown,
  declared: ReadonlySet<string>,
): readonly string[] {
  return suites.flatMap(({ name, report }) => {
    const { skipped = 0, testResults = [] } = (report === undefined ? {} : (read(report) ?? {})) as Report;
    const tests = testResults
      .flatMap(({ assertionResults }) => assertionResults)
      .filter(({ status, fullName }) => status !== 'passed' && status !== 'failed' && !isDeclared(fullName, declared));
    return [
      ...tests.map(({ fullName }) => `${name}: ${fullName}`),
      ...(skipped > 0 ? [`${name}: ${skipped} skipped`] : []),
    ];
  });
}

function isDeclared(title: string, declared: ReadonlySet<string>): boolean {
  const needs = [...title.matchAll(/\(needs ([^)]+)\)/g)].flatMap(([, list = '']) => list.split(', '));
  return needs.some((need) => declared.has(need));
}
