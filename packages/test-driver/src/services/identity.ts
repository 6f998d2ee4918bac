// SPDX-License-Identifier: Apache-2.0
/** The identity service: name, capabilities and readiness of the driver. */
import type { Handler } from './handler.ts';

export const getPluginInfo: Handler<'/csi.v1.Identity/GetPluginInfo'> = ({ settings }) => ({
  name: settings.name,
  vendor_version: settings.vendorVersion,
  manifest: settings.manifest,
});

export const getPluginCapabilities: Handler<'/csi.v1.Identity/GetPluginCapabilities'> = ({ settings }) => ({
  capabilities: [
    ...settings.capabilities.plugin.map((type) => ({ service: { type } })),
    ...settings.capabilities.expansion.map((type) => ({ volume_expansion: { type } })),
  ],
});

/** `ready` is absent, which means ready; a fault rule makes it false or an error. */
export const probe: Handler<'/csi.v1.Identity/Probe'> = () => ({});

export const controllerGetCapabilities: Handler<'/csi.v1.Controller/ControllerGetCapabilities'> = ({ settings }) => ({
  capabilities: settings.capabilities.controller.map((type) => ({ rpc: { type } })),
});

export const groupControllerGetCapabilities: Handler<'/csi.v1.GroupController/GroupControllerGetCapabilities'> = ({
  settings,
}) => ({ capabilities: settings.capabilities.group.map((type) => ({ rpc: { type } })) });

export const nodeGetCapabilities: Handler<'/csi.v1.Node/NodeGetCapabilities'> = ({ settings }) => ({
  capabilities: settings.capabilities.node.map((type) => ({ rpc: { type } })),
});
