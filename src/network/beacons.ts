import { parseHostAndPort } from '../lib/net/host-and-port.ts';
import type { BootstrapPeer } from '../p2p/discovery/peer-discovery.ts';
import { parseNodeID } from '../warp/ids.ts';
import { FUJI, MAINNET } from '../warp/networks.ts';

/**
 * Nodes that the reference node ships to start from: avalanchego v1.15.0, `genesis/bootstrappers.json`, of 2026-09-08. Facts of the network,
 * not code; newer releases of it may have others.
 */
const BEACONS = {
  mainnet: [
    'NodeID-A6onFGyJjA37EZ7kYHANMR1PFRT8NmXrF 54.232.137.108:9651',
    'NodeID-6SwnPJLH8cWfrJ162JjZekbmzaFpjPcf 13.124.187.98:9651',
    'NodeID-GSgaA47umS1px2ohVjodW9621Ks63xDxD 54.232.142.167:9651',
    'NodeID-BQEo5Fy1FRKLbX51ejqDd14cuSXJKArH2 3.39.67.183:9651',
    'NodeID-Drv1Qh7iJvW3zGBBeRnYfCzk56VCRM2GQ 13.245.185.253:9651',
    'NodeID-DAtCoXfLT6Y83dgJ7FmQg8eR53hz37J79 13.246.169.11:9651',
    'NodeID-FGRoKnyYKFWYFMb6Xbocf4hKuyCBENgWM 13.251.82.39:9651',
    'NodeID-Dw7tuwxpAmcpvVGp9JzaHAR3REPoJ8f2R 34.250.50.224:9651',
    'NodeID-4kCLS16Wy73nt1Zm54jFZsL7Msrv3UCeJ 18.142.247.237:9651',
    'NodeID-9T7NXBFpp8LWCyc58YdKNoowDipdVKAWz 34.252.106.116:9651',
    'NodeID-6ghBh6yof5ouMCya2n9fHzhpWouiZFVVj 43.205.156.229:9651',
    'NodeID-HiFv1DpKXkAAfJ1NHWVqQoojjznibZXHP 13.233.176.118:9651',
    'NodeID-Fv3t2shrpkmvLnvNzcv1rqRKbDAYFnUor 35.164.160.193:9651',
    'NodeID-AaxT2P4uuPAHb7vAD8mNvjQ3jgyaV7tu9 54.185.77.104:9651',
    'NodeID-kZNuQMHhydefgnwjYX1fhHMpRNAs9my1 3.74.3.14:9651',
    'NodeID-A7GwTSd47AcDVqpTVj7YtxtjHREM33EJw 3.135.107.20:9651',
    'NodeID-Hr78Fy8uDYiRYocRYHXp4eLCYeb8x5UuM 3.77.28.168:9651',
    'NodeID-9CkG9MBNavnw7EVSRsuFr7ws9gascDQy3 18.216.88.69:9651',
    'NodeID-A8jypu63CWp76STwKdqP6e9hjL675kdiG 3.24.26.175:9651',
    'NodeID-HsBEx3L71EHWSXaE6gvk2VsNntFEZsxqc 52.64.55.185:9651',
    'NodeID-Nr584bLpGgbCUbZFSBaBz3Xum5wpca9Ym 16.162.27.145:9651',
    'NodeID-QKGoUvqcgormCoMj6yPw9isY7DX9H4mdd 18.163.169.191:9651',
    'NodeID-HCw7S2TVbFPDWNBo1GnFWqJ47f9rDJtt1 13.39.184.151:9651',
    'NodeID-FYv1Lb29SqMpywYXH7yNkcFAzRF2jvm3K 13.36.28.133:9651',
  ],
  fuji: [
    'NodeID-2m38qc95mhHXtrhjyGbe7r2NhniqHHJRB 18.192.93.241:9651',
    'NodeID-JjvzhxnLHLUQ5HjVRkvG827ivbLXPwA9u 3.76.143.200:9651',
    'NodeID-LegbVf6qaMKcsXPnLStkdc1JVktmmiDxy 16.163.84.252:9651',
    'NodeID-HGZ8ae74J3odT8ESreAdCtdnvWG1J4X5n 13.237.111.196:9651',
    'NodeID-CYKruAjwH1BmV3m37sXNuprbr7dGQuJwG 18.167.242.179:9651',
    'NodeID-4KXitMCoE9p2BHA6VzXtaTxLoEjNDo2Pt 54.207.25.7:9651',
    'NodeID-LQwRLm4cbJ7T2kxcxp4uXCU5XD8DFrE1C 18.230.200.134:9651',
    'NodeID-4CWTbdvgXHY1CLXqQNAp22nJDo5nAmts6 13.55.124.229:9651',
    'NodeID-4QBwET5o8kUhvt9xArhir4d3R25CtmZho 3.99.55.15:9651',
    'NodeID-JyE4P8f4cTryNV8DCz2M81bMtGhFFHexG 18.228.229.17:9651',
    'NodeID-EDESh4DfZFC15i613pMtWniQ9arbBZRnL 52.29.72.46:9651',
    'NodeID-BFa1padLXBj7VHa2JYvYGzcTBPQGjPhUy 16.163.75.62:9651',
    'NodeID-CZmZ9xpCzkWqjAyS7L4htzh5Lg6kf1k18 34.248.69.195:9651',
    'NodeID-FesGqwKq7z5nPFHa5iwZctHE5EZV9Lpdq 54.66.120.144:9651',
    'NodeID-84KbQHSDnojroCVY7vQ7u9Tx7pUonPaS 3.97.132.61:9651',
    'NodeID-CTtkcXvVdhpNp6f97LEUXPwsRD3A2ZHqP 18.230.111.83:9651',
    'NodeID-hArafGhY2HFTbwaaVh1CSCUCUCiJ2Vfb 52.67.156.131:9651',
    'NodeID-4B4rc5vdD1758JSBYL1xyvE5NHGzz6xzH 176.34.80.199:9651',
    'NodeID-EzGaipqomyK9UKx9DBHV6Ky3y68hoknrF 176.34.97.64:9651',
    'NodeID-NpagUxt6KQiwPch9Sd4osv8kD1TZnkjdk 3.97.255.92:9651',
    'NodeID-3VWnZNViBP2b56QBY7pNJSLzN2rkTyqnK 54.20.25.221:9651',
  ],
} as const;

/** Returns the beacons of a public network; none of another one. */
export function beaconsOf(networkID: number): readonly BootstrapPeer[] {
  const network = [MAINNET, FUJI].find((known) => known.networkID === networkID);
  return (network === undefined ? [] : BEACONS[network.name]).map((beacon) => {
    const [nodeID = '', address = ''] = beacon.split(' ');
    return { nodeID: parseNodeID(nodeID), ...parseHostAndPort(address) };
  });
}
