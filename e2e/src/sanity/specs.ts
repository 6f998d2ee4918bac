// SPDX-License-Identifier: Apache-2.0
/** The counts in a Ginkgo JSON report. Set-up nodes are not specs, but one that fails is a failure. */

export interface SpecCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

interface SpecReport {
  readonly LeafNodeType: string;
  readonly State: string;
  readonly ContainerHierarchyTexts?: readonly string[] | null;
  readonly LeafNodeText?: string;
  readonly Failure?: { readonly Message?: string };
}

export function countSpecs(report: string): SpecCounts {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const { LeafNodeType, State } of specsIn(report)) {
    const isSpec = LeafNodeType === 'It';
    if (State === 'passed') counts.passed += isSpec ? 1 : 0;
    else if (State === 'skipped' || State === 'pending') counts.skipped += isSpec ? 1 : 0;
    else counts.failed += 1;
  }
  return counts;
}

/** One line per spec that was not run, with the reason that the suite gives. */
export function skippedSpecs(report: string): readonly string[] {
  return specsIn(report)
    .filter(({ State }) => State === 'skipped' || State === 'pending')
    .map(({ ContainerHierarchyTexts, LeafNodeText = '', Failure, State }) => {
      const name = [...(ContainerHierarchyTexts ?? []), LeafNodeText].join(' ');
      return `${name}: ${Failure?.Message ?? State}`;
    });
}

function specsIn(report: string): readonly SpecReport[] {
  const suites = JSON.parse(report) as readonly { readonly SpecReports: readonly SpecReport[] | null }[];
  return suites.flatMap(({ SpecReports }) => SpecReports ?? []);
}

export function add(a: SpecCounts, b: SpecCounts): SpecCounts {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped };
}
