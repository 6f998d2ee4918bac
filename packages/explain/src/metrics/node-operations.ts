// SPDX-License-Identifier: Apache-2.0
/**
 * What a kubelet has measured of a driver since it started: calls to the driver (`csi_operations_seconds`) and its own operations with volumes
 * (`storage_operation_duration_seconds`). Of both histograms the sums and counts are used.
 */
import { seriesOf } from './series.ts';

export type NodeFamily = 'csi_operations_seconds' | 'storage_operation_duration_seconds';

export interface NodeOperation {
  readonly family: NodeFamily;
  /** `NodeStageVolume`, `volume_mount`. */
  readonly operation: string;
  /** `OK` or the name of another gRPC code; `success` or `fail-unknown`. */
  readonly result: string;
  readonly count: number;
  readonly averageSeconds: number;
}

export interface NodeOperations {
  /** A line of the text. `enough`: there are more series than a kubelet has, and no more of them are kept. */
  readonly add: (line: string) => 'more' | 'enough';
  /** The text is one of metrics. */
  readonly isMetrics: () => boolean;
  /** Failed ones first, then those that took the most time together. At most 40. */
  readonly all: () => readonly NodeOperation[];
}

interface Sums {
  readonly family: NodeFamily;
  readonly operation: string;
  readonly result: string;
  count: number;
  seconds: number;
}

interface Labels {
  readonly of: string;
  readonly operation: string;
  readonly result: string;
}

const labelsOf: Readonly<Record<NodeFamily, Labels>> = {
  csi_operations_seconds: { of: 'driver_name', operation: 'method_name', result: 'grpc_status_code' },
  storage_operation_duration_seconds: { of: 'volume_plugin', operation: 'operation_name', result: 'status' },
};
const successes: ReadonlySet<string> = new Set(['OK', 'success']);

/** Two for each call and operation of a kubelet, and some more. */
const mostKept = 200;
const mostShown = 40;

export function nodeOperationsOf(driver: string): NodeOperations {
  const sums = new Map<string, Sums>();
  const names: ReadonlySet<string> = new Set([driver, `kubernetes.io/csi:${driver}`]);
  let isMetrics = false;
  return {
    add: (line) => {
      isMetrics ||= line.startsWith('# TYPE ');
      const [, family, part] =
        /^(csi_operations_seconds|storage_operation_duration_seconds)_(sum|count)\{/.exec(line) ?? [];
      const series = part === undefined ? undefined : seriesOf(line);
      if (series === undefined) return 'more';
      const { of, operation, result } = labelsOf[family as NodeFamily];
      const label = (name: string): string => series.labels.get(name) ?? '';
      if (!names.has(label(of))) return 'more';
      const facts = {
        family: family as NodeFamily,
        operation: label(operation).replace(/^.*\//, ''),
        result: label(result),
      };
      const key = JSON.stringify(Object.values(facts));
      const known = sums.get(key) ?? { ...facts, count: 0, seconds: 0 };
      if (part === 'count') known.count += series.value;
      else known.seconds += series.value;
      if (!sums.has(key) && sums.size >= mostKept) return 'enough';
      sums.set(key, known);
      return 'more';
    },
    isMetrics: () => isMetrics,
    all: () =>
      [...sums.values()]
        .filter(({ count }) => count > 0)
        .toSorted(
          (left, right) =>
            Number(successes.has(left.result)) - Number(successes.has(right.result)) || right.seconds - left.seconds,
        )
        .slice(0, mostShown)
        .map(({ seconds, ...each }) => ({
          ...each,
          averageSeconds: Math.round((seconds / each.count) * 1_000) / 1_000,
        })),
  };
}
