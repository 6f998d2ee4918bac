// SPDX-License-Identifier: Apache-2.0
/**
 * The network of pods that do not use the machine's: nothing but loopback. The plugin makes no interface, and only gives each pod an address,
 * which containerd and kubelet want to see. Without any plugin the node would not get ready.
 */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Not that of a plugin: the library looks for a folder of this name beside the configuration. */
const network = 'pods';
const plugin = 'no-network';
/** containerd runs a plugin of this name for the loopback interface of each pod. */
const loopback = 'loopback';
const cniVersion = '1.0.0';

/** 198.18.0.0/15 is for tests between networks (RFC 2544): no machine has an address in it. */
const script = `#!/bin/sh
cat >/dev/null
case "$CNI_COMMAND" in
VERSION) echo '{"cniVersion":"${cniVersion}","supportedVersions":["0.3.1","0.4.0","${cniVersion}"]}' ;;
ADD)
  if [ "$CNI_IFNAME" = lo ]; then
    address=127.0.0.1/8
    nsenter --net="$CNI_NETNS" ip link set lo up 2>/dev/null
  else
    number=$(printf %s "$CNI_CONTAINERID" | cksum | cut -d' ' -f1)
    address=198.18.$((number / 250 % 250 + 1)).$((number % 250 + 1))/16
  fi
  echo '{"cniVersion":"${cniVersion}","interfaces":[{"name":"'"$CNI_IFNAME"'","sandbox":"'"$CNI_NETNS"'"}],"ips":[{"address":"'"$address"'","interface":0}]}'
  ;;
esac
`;

/** Plugins and their configuration are in one folder. */
export function writePodNetwork(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const name of [plugin, loopback]) {
    const path = join(folder, name);
    writeFileSync(path, script);
    chmodSync(path, 0o755);
  }
  const configuration = { cniVersion, name: network, plugins: [{ type: plugin }] };
  writeFileSync(join(folder, '10-pods.conflist'), JSON.stringify(configuration));
}
