// Which proxy to use for a URL. Browsers evaluate this; it resolves no names.
var OWN = {{own}};
var PROXY = {{proxy}};
var PLAIN_NAMES_ARE_DIRECT = {{plain}};
var HOSTS = {{hosts}};
var DOMAINS = {{domains}};
var PREFIXES = {{prefixes}};

function FindProxyForURL(url, host) {
  var i, bits;
  host = host.toLowerCase().replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (host == OWN) return PROXY;
  if (PLAIN_NAMES_ARE_DIRECT && !/[.:]/.test(host)) return "DIRECT";
  for (i = 0; i < HOSTS.length; i++) if (host == HOSTS[i]) return "DIRECT";
  for (i = 0; i < DOMAINS.length; i++) {
    if ("." + host == DOMAINS[i] || host.slice(-DOMAINS[i].length) == DOMAINS[i]) return "DIRECT";
  }
  bits = addressBits(host);
  for (i = 0; bits && i < PREFIXES.length; i++) if (bits.indexOf(PREFIXES[i]) === 0) return "DIRECT";
  return PROXY;
}

// An address as its family and its bits, "4:00001010..."; a name as "".
function addressBits(host) {
  var i, text, parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(host);
  if (parts) {
    for (i = 1, text = "4:"; i < 5; i++) text += binary(parseInt(parts[i], 10), 8);
    return text;
  }
  if (host.indexOf(":") < 0) return "";
  parts = host.split("%")[0].split("::");
  var head = parts[0] ? parts[0].split(":") : [], tail = parts[1] ? parts[1].split(":") : [];
  while (parts.length == 2 && head.length + tail.length < 8) head.push("0");
  for (i = 0, text = "6:", parts = head.concat(tail); i < parts.length; i++) text += binary(parseInt(parts[i], 16), 16);
  return text;
}

function binary(number, width) {
  var text = (number || 0).toString(2);
  while (text.length < width) text = "0" + text;
  return text;
}
