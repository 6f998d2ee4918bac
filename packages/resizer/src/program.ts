// SPDX-License-Identifier: Apache-2.0
/** csi-resizer as a program: what is its own between the first argument and the exit code. */
import { createEventRecorder, servesKind } from '@csi-sidecars/runtime';
import { overCaches, type ProgramDeps, runSidecar, type SidecarContext } from '@csi-sidecars/sidecar';
import { replacesPlugin } from '@csi-sidecars/volume';
import { askDriver } from './ask-driver.ts';
import { type ResizerGate, resizerProgram, type ResizerValues } from './flags.ts';
import { lockNameOf } from './names.ts';
import { refusedFlags, timeoutsOf, toSettings } from './read-settings.ts';
import { createResizer } from './resizer.ts';
import type { ResizerSettings } from './settings.ts';

type Context = SidecarContext<ResizerValues, ResizerGate>;

export function runResizer(deps: ProgramDeps): Promise<number> {
  return runSidecar<ResizerValues, ResizerGate>(deps, resizerProgram, {
    refused: refusedFlags,
    requestMetrics: true,
    driver: ({ timeout }) => ({ probeTimeoutMs: timeout, nameTimeoutMs: timeout, isMigrated: replacesPlugin }),
    prepare: async (context) => {
      const { values, given } = context.started;
      const features = await featuresOf(context);
      const timeouts = timeoutsOf(values, given);
      const driver = await askDriver(context, timeouts);
      const settings = toSettings(values, timeouts, features);
      const { channel, name } = context;
      return {
        lockName: lockNameOf(name),
        run: overCaches(context, (ports) => {
          const events = createEventRecorder(ports, { component: `external-resizer ${name}` });
          const resizer = createResizer({ ...ports, channel, events }, { driver, settings });
          return {
            run: (signal) => resizer.run(signal),
            // Events of the work under the lease are written before the lease is released.
            end: () => events.flush(),
          };
        }),
      };
    },
  });
}

/** A cluster without VolumeAttributesClasses switches their gate off, unless the command line sets it. */
async function featuresOf({ started, client, log, signal }: Context): Promise<ResizerSettings['features']> {
  const { gates, givenGates } = started;
  let volumeAttributesClass = gates.VolumeAttributesClass;
  if (volumeAttributesClass && !givenGates.has('VolumeAttributesClass')) {
    const kind = { groupVersion: 'storage.k8s.io/v1', kind: 'VolumeAttributesClass' };
    if ((await servesKind(client, kind, signal)) === 'absent') {
      volumeAttributesClass = false;
      log.info(
        0,
        'Disabling VolumeAttributesClass feature gate because the VolumeAttributesClass v1 API is not available',
      );
    }
  }
  return {
    annotateFsResize: gates.AnnotateFsResize,
    recovery: gates.RecoverVolumeExpansionFailure,
    volumeAttributesClass,
  };
}
