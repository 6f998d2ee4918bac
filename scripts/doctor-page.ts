// SPDX-License-Identifier: Apache-2.0
/** docs/reference/doctor.md: the table of the checks of `csi-sidecars doctor`, from the checks themselves. */
import type { Check } from '../packages/explain/src/doctor/check.ts';
import type { Part } from '../packages/explain/src/doctor/ids.ts';
import { allChecks, partTitles } from '../packages/explain/src/doctor/checks/all.ts';
import { sources } from '../packages/explain/src/doctor/readings/readings.ts';

const partOf = ({ id }: Check): Part => id.replace(/-\d+$/, '') as Part;
const numberOf = ({ id }: Check): number => Number(id.split('-').at(-1));

export function doctorPage(): string {
  const parts = Map.groupBy(allChecks, partOf);
  return [
    '# The checks of doctor',
    '',
    'Generated from the checks (`npm run generate`); `csi-sidecars doctor --list` prints the same. How it works: [doctor](../behaviour/doctor.md). Flags: [flags](flags.md#csi-sidecars-doctor).',
    '',
    'An id is never used for another check. A check whose reading fails is not run, and says which right it lacks. "Follows from" names the checks that explain a finding:',
    'then it stands below theirs and does not count by itself.',
    '',
    ...[...parts].flatMap(([part, checks]) => [
      `## ${partTitles[part]}`,
      '',
      '| Id | Severity | Wrong if | Mend | Reads | Follows from |',
      '|---|---|---|---|---|---|',
      ...checks.toSorted((left, right) => numberOf(left) - numberOf(right)).map(rowOf),
      '',
    ]),
  ].join('\n');
}

function rowOf({ id, severity, wrong, mend, reads, causes = [] }: Check): string {
  const rights = [...new Set(reads.flatMap((name) => sources[name].rights))];
  const cells = [id, severity, wrong, mend, rights.join(', '), causes.join(', ')];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
