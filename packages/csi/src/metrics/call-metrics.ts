// SPDX-License-Identifier: Apache-2.0
/**
 * The histogram of CSI calls, `<subsystem>_operations_seconds`, with upstream's name, help, buckets and labels.
 * `driver_name` is `unknown-driver` until the name is known; earlier observations keep that value. Additional labels are
 * declared once and given values by `withLabelValues`, which does not change the original.
 */
import type { Labels, Metrics } from '@csi-sidecars/runtime';
import type { Code } from '@csi-sidecars/grpc';

export interface CallMetrics {
  setDriverName(name: string): void;
  /** Throws for a label that was not declared or already has a value. */
  withLabelValues(values: Labels): CallMetrics;
  record(call: ObservedCall): void;
}

export interface ObservedCall {
  readonly method: string;
  /** `unknown-non-grpc`: a failure without a gRPC status. */
  readonly code: Code | 'unknown-non-grpc';
  readonly seconds: number;
  /** Value of the label `migrated`; ignored if the label is not declared. */
  readonly migrated?: boolean | undefined;
}

export interface CallMetricsOptions {
  /** `csi_sidecar` (default) for callers, `csi_plugin` for drivers, the third for csi-snapshot-metadata. */
  readonly subsystem?: 'csi_sidecar' | 'csi_plugin' | 'snapshot_metadata_controller';
  /** Additional labels without a value yet. `migrated` without a value takes that of the call, `false` if it has none. */
  readonly labelNames?: readonly string[];
  /** Additional labels whose value never changes. */
  readonly labels?: Labels;
}

const buckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600] as const;
const unknownDriver = 'unknown-driver';

export function createCallMetrics(metrics: Metrics, options: CallMetricsOptions = {}): CallMetrics {
  const { subsystem = 'csi_sidecar', labelNames = [], labels = {} } = options;
  const histogram = metrics.histogram({
    name: `${subsystem}_operations_seconds`,
    help: '[ALPHA] Container Storage Interface operation duration with gRPC error code status total',
    labels: ['driver_name', 'method_name', 'grpc_status_code', ...labelNames, ...Object.keys(labels)],
    buckets,
  });
  const unset = Object.fromEntries(labelNames.map((name) => [name, '']));
  let driverName = unknownDriver;

  function view(given: Labels): CallMetrics {
    return {
      setDriverName: (name) => {
        driverName = name === '' ? unknownDriver : name;
      },
      withLabelValues: (values) => {
        for (const name of Object.keys(values)) {
          if (!labelNames.includes(name)) throw new Error(`label "${name}" was not defined via WithLabelNames`);
          if (name in given) throw new Error(`label "${name}" already has value "${given[name]}"`);
        }
        return view({ ...given, ...values });
      },
      record: ({ method, code, seconds, migrated = false }) => {
        const perCall: Labels = 'migrated' in unset ? { migrated: String(migrated) } : {};
        histogram.observe(seconds, {
          ...unset,
          ...perCall,
          ...labels,
          ...given,
          driver_name: driverName,
          method_name: method,
          grpc_status_code: code,
        });
      },
    };
  }
  return view({});
}
