// SPDX-License-Identifier: Apache-2.0
/** The counts in a Ginkgo JSON report. Set-up nodes are not specs, but one that fails is a failure. */

export interface SpecCounts {
  readonly passed: number;
  readonly failed: number;
  /** Specs that were not run, and whose reason is not declared here. A run with one of them fails. */
  readonly skipped: number;
  readonly notApplicable: number;
}

/** The reasons for which specs may be skipped: what the test driver does not do, and what csi-sanity itself leaves out. */
const declaredReasons = new Set([
  'ControllerGetVolumeHealth not supported',
  'ControllerListVolumeHealth not supported',
  'NodeGetVolumeHealth not supported',
  'NodeGetStorageHealth not supported',
  'SNAPSHOT_ACCESSIBILITY_CONSTRAINTS not supported',
  'pending',
]);

interface SpecReport {
  readonly LeafNodeType: string;
  readonly State: string;
  readonly ContainerHierarchyTexts?: readonly string[] | null;
  readonly LeafNodeText?: string;
  readonly Failure?: { readonly Message?: string };
}

export function countSpecs(report: string): SpecCounts {
  const counts = { passed: 0, failed: 0, skipped: 0, notApplicable: 0 };
  for (const spec of specsIn(report)) {
    const isSpec = spec.LeafNodeType === 'It';
    if (spec.State === 'passed') counts.passed += isSpec ? 1 : 0;
    else if (!isLeftOut(spec)) counts.failed += 1;
    else if (isSpec) counts[declaredReasons.has(reasonOf(spec)) ? 'notApplicable' : 'skipped'] += 1;
  }
  return counts;
}

/** One line per spec that was not run, with the reason that the suite gives. */
export function skippedSpecs(report: string): readonly string[] {
  return specsIn(report)
    .filter(isLeftOut)
    .map((spec) => {
      const name = [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText ?? ''].join(' ');
      const reason = reasonOf(spec);
      return `${declaredReasons.has(reason) ? 'not applicable' : 'skipped'}: ${name}: ${reason}`;
    });
}

function isLeftOut({ State }: SpecReport): boolean {
  return State === 'skipped' || State === 'pending';
}

function reasonOf({ Failure, State }: SpecReport): string {
  return Failure?.Message ?? State;
}

function specsIn(report: string): readonly SpecReport[] {
  const suites = JSON.parse(report) as readonly { readonly SpecReports: readonly SpecReport[] | null }[];
  return suites.flatMap(({ SpecReports }) => SpecReports ?? []);
}

export function add(a: SpecCounts, b: SpecCounts): SpecCounts {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
    notApplicable: a.notApplicable + b.notApplicable,
  };
}
