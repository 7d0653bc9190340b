#include <volk.h>
