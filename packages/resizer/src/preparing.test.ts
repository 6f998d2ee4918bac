// SPDX-License-Identifier: Apache-2.0
/** What the program asks the driver for before it leads, and what it takes from the answers. */
import type { CsiCallOptions } from '@csi-sidecars/csi';
import { replacesPlugin } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import { driverName } from '../testing/builders.ts';
import { featuresOf, resizerSidecar } from './program.ts';
import { clusterRules } from './rbac.ts';

/** Prepares a controller for a driver with these capabilities of the controller and the node. */
async function prepared(controller: readonly string[], node = ['EXPAND_VOLUME'], plugin = 'CONTROLLER_SERVICE') {
  const { signal } = new AbortController();
  const asked: unknown[] = [];
  const call = async (method: string, _request: object, options: CsiCallOptions) => {
    asked.push([method.split('/').at(-1), options.timeoutMs, options.signal === signal]);
    const types = method.startsWith('/csi.v1.Node/') ? node : controller;
    const rpc = types.map((type) => ({ rpc: { type }, service: { type: plugin } }));
    return { capabilities: [{ rpc: null, service: null }, ...rpc] };
  };
  const started = {
    values: { 'resize-timeout': 3_000, 'modify-timeout': 5_000, 'handle-volume-inuse-error': true },
    gates: { VolumeAttributesClass: true },
    given: new Set(),
    givenGates: new Set(['VolumeAttributesClass']),
  };
  const context = { channel: { call }, name: driverName, signal, started } as never;
  const { assemble: _assemble, ...known } = await resizerSidecar.prepare(context);
  return { asked, known };
}

const withoutSecrets = clusterRules.filter(({ resources }) => !resources.includes('secrets'));

it.each([
  { controller: ['EXPAND_VOLUME', 'MODIFY_VOLUME'], node: [], expansion: 'controller', rules: withoutSecrets },
  {
    controller: ['GET_VOLUME'],
    node: [['NodeGetCapabilities', 3_000, true]],
    expansion: 'trivial',
    rules: withoutSecrets.filter(({ resources }) => !resources.includes('volumeattributesclasses')),
  },
])(
  'given the capabilities $controller, then each call has its own timeout, and what is known is the driver, its lock and its rights',
  async ({ controller, node, expansion, rules }) => {
    const { asked, known } = await prepared(controller);
    expect(asked).toEqual([
      ['GetPluginCapabilities', 3_000, true],
      ['ControllerGetCapabilities', 3_000, true],
      ...node,
      ['ControllerGetCapabilities', 5_000, true],
    ]);
    expect(known).toEqual({
      lockName: `external-resizer-${driverName}`,
      driver: {
        name: driverName,
        pluginCapabilities: new Set(['CONTROLLER_SERVICE']),
        controllerCapabilities: new Set(controller),
        expansion,
      },
      // Whether a volume names a secret is not known yet.
      rights: { cluster: rules },
    });
  },
);

it('given a driver without a controller, or with nothing to do, then the driver is the reason of the end', async () => {
  await expect(prepared(['EXPAND_VOLUME'], [], 'OTHER')).rejects.toMatchObject({ code: 1, reason: 'driver' });
  await expect(prepared(['GET_VOLUME'], ['STAGE_UNSTAGE_VOLUME'])).rejects.toMatchObject({
    code: 255,
    reason: 'driver',
    message: 'CSI driver does not support resize nor modify',
  });
});

it.each([true, false])('given gates that are %s, then so are the features', async (isOn) => {
  const gates = { AnnotateFsResize: isOn, RecoverVolumeExpansionFailure: isOn, VolumeAttributesClass: isOn };
  const context = { started: { gates, givenGates: new Set(['VolumeAttributesClass']) } } as never;
  expect(await featuresOf(context)).toEqual({ annotateFsResize: isOn, recovery: isOn, volumeAttributesClass: isOn });
});

it('given --timeout, then it is that of the probes and of the name, and the requests of the process are counted', () => {
  const { driver, requestMetrics } = resizerSidecar;
  expect([driver({ timeout: 7_000 } as never, {}), requestMetrics]).toEqual([
    { probeTimeoutMs: 7_000, nameTimeoutMs: 7_000, isMigrated: replacesPlugin },
    true,
  ]);
});
