// SPDX-License-Identifier: Apache-2.0
/** volume-data-source-validator as a list of loops over shared caches. Knows no process, no flags. */
import {
  type AwaitableRecorder,
  type Controller,
  type ControllerPorts,
  createController,
  createTrigger,
  type Loop,
  type Metrics,
  type ObjectKey,
} from '@csi-sidecars/runtime';
import type { VolumePopulator } from './populator.ts';
import type { DataSourceValidatorSettings } from './settings.ts';
import { createUnknownClaims, type UnknownClaims } from './unknown-claims.ts';
import { validationLoop } from './validation.ts';
import type { Verdict } from './verdict.ts';
import { warningLoop } from './warning.ts';
import { watchedBy } from './watched.ts';

export interface DataSourceValidatorDeps extends ControllerPorts {
  /** Source component `volume-data-source-validator`. */
  readonly events: Pick<AwaitableRecorder, 'deliver'>;
  /** Where claims are counted. The metrics of queues and caches go to those of the ports. */
  readonly validationMetrics: Metrics;
}

/** Without the definition of populators no cache is filled, and no claim is ever looked at. */
const patienceMs = 30_000;

/** It starts when claims and populators are listed. While the latter are not, nothing but a warning happens, whatever the reason. */
export function createDataSourceValidator(
  deps: DataSourceValidatorDeps,
  settings: DataSourceValidatorSettings,
): Controller {
  const { clock, logger, informers } = deps;
  const controller = createController(deps, dataSourceValidatorLoops(deps, settings));
  const populators = informers.informer(watchedBy(settings).populators);
  return {
    run: async (signal) => {
      using _ = clock.timer(patienceMs, () => {
        if (!populators.hasSynced) logger.warn(notListed, { withinSeconds: patienceMs / 1_000 });
      });
      await controller.run(signal);
    },
  };
}

const notListed =
  'VolumePopulators could not be listed, so no claim is checked yet: is the definition volumepopulators.populator.storage.k8s.io installed, and may this account list them?';

function dataSourceValidatorLoops(
  { events, validationMetrics, clock, logger }: DataSourceValidatorDeps,
  settings: DataSourceValidatorSettings,
): readonly Loop[] {
  const unknown = createUnknownClaims(clock);
  const warn = createTrigger<ObjectKey>();
  const { count } = createMetrics(validationMetrics, unknown);
  const watched = watchedBy(settings);
  const skipped = ({ metadata }: VolumePopulator): void =>
    logger.warn('Skipping a VolumePopulator without group and kind', { VolumePopulator: metadata?.name ?? '' });
  return [
    validationLoop({ settings, unknown, count, warn, skipped }, watched),
    warningLoop({ settings, unknown, events, warn }, watched),
  ];
}

interface ValidationMetrics {
  readonly count: (verdict: Verdict) => void;
}

function createMetrics(metrics: Metrics, unknown: Pick<UnknownClaims, 'size'>): ValidationMetrics {
  const counter = metrics.counter({
    name: 'volume_data_source_validator_operation_count',
    help: '[ALPHA] Number of validations operations by result',
    labels: ['result'],
  });
  metrics.gauge({
    name: 'csi_sidecars_claims_with_unknown_source',
    help: 'Claims whose data source no VolumePopulator registers',
    collect: () => [{ labels: {}, value: unknown.size }],
  });
  return { count: (result) => counter.inc({ result }) };
}
