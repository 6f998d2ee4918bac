// SPDX-License-Identifier: Apache-2.0
/** What failed in a run, for its last lines: a log is often cut in its middle. */
import type { SuiteRun } from './durations.ts';

/** The parts of a report that name failures: vitest's JSON, the scenarios', or the checks of the built programs. */
interface Report {
  readonly failures?: readonly string[];
  readonly scenarios?: readonly {
    readonly id: string;
    readonly title: string;
    readonly outcome: string;
    readonly error?: string;
    /** The context of the error: its end is worth most. */
    readonly details?: string;
  }[];
  readonly testResults?: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

const shownCharacters = 600;
const shownOfDetails = 2_500;

/** One entry for each failure that a report names, with the beginning of its message. `read` as for `durationsOf`. */
export function failuresOf(suites: readonly SuiteRun[], read: (report: string) => unknown): readonly string[] {
  return suites.flatMap(({ name: suite, report }) => {
    const {
      failures = [],
      scenarios = [],
      testResults = [],
    } = ((report !== undefined && read(report)) || {}) as Report;
    return [
      ...failures.map(beginning),
      ...scenarios
        .filter(({ outcome }) => outcome === 'failed')
        .map(({ id, title, error = '', details = '' }) =>
          `${beginning(`${id} ${title}\n${error}`)}\n${details.slice(-shownOfDetails)}`.trimEnd(),
        ),
      ...testResults.flatMap(({ name, status, message, assertionResults }) => {
        if (status === 'failed' && assertionResults.length === 0) return [beginning(`${name}\n${message}`)];
        return assertionResults
          .filter((test) => test.status === 'failed')
          .map(({ fullName, failureMessages }) => beginning(`${fullName}\n${failureMessages.join('\n')}`));
      }),
    ].map((failure) => `${suite}: ${failure}`);
  });
}

function beginning(text: string): string {
  return text.slice(0, shownCharacters).trimEnd();
}
